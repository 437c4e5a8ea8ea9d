package cpu

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// ErrWeight is returned (wrapped) by Load for a spec whose shape, group or byte counts do not fit together.
var ErrWeight = errors.New("cpu: bad weight")

// tileN is the number of outputs that sit side by side in a repacked weight.
const tileN = 16

// narrowN is the most outputs of a narrow weight.
const narrowN = 4

// layout is how a weight's values lie on this device. Every matrix is cut into tiles of 16 outputs (the last padded with
// zeros); inside a tile the 16 values of one k lie together, so that a kernel loads 16 weights and multiplies them by one x.
//
//	layF32   [tile][k][16] f32 (f32 and f16 packs)
//	layBF16  [tile][k/2][16] u32: k even in the low half, k odd in the high half
//	layNarrow [k/4][4][4] u16: bf16 of a matrix with no more than four outputs, four columns of an output together
//	layQ8    [tile][k/4][16][4] u8: four columns of an output lie together, as the integer kernels take them
//	layQ4    [tile][k/8][16][4] u8: column k+j in the low half of byte j, column k+4+j in the high half
//
// Quantised layouts have [tile][group][16] u32 beside them: scale (bf16) in the low half, bias (bf16) in the high half.
type layout uint8

const (
	layF32 layout = iota
	layBF16
	layNarrow // where the kernel set has it
	layQ8
	layQ4
	layouts
)

// tileBytes is the size of one tile's values for inner size k.
func (l layout) tileBytes(k int) int {
	switch l {
	case layF32:
		return k * tileN * 4
	case layBF16:
		return (k + 1) / 2 * tileN * 4
	case layNarrow:
		return k * narrowN * 2
	case layQ8:
		return k * tileN
	default:
		return k / 2 * tileN
	}
}

// affine says whether the layout has scales and biases.
func (l layout) affine() bool { return l >= layQ8 }

// weight is a stack of matrices in host memory. It is read-only after Load and safe for concurrent use.
type weight struct {
	dev    *Device
	name   string
	format metal.Format
	layout layout
	rows   int
	cols   int
	stack  int
	tiles  int // per matrix
	step   int // bytes per tile
	group  int
	groups int      // per row, 0 for plain layouts
	coded  bool     // the pack has no codes: they are made at load (encode.go)
	split  int      // groups of the device for one of the pack: long ones are cut (fixedBlock)
	center int32    // affine layouts: c of fixed.go
	data   []byte   // [stack][tiles][step], on a cache line
	sb     []uint32 // [stack][tiles][groups][16]
}

func (w *weight) Name() string         { return w.name }
func (w *weight) Rows() int            { return w.rows }
func (w *weight) Cols() int            { return w.cols }
func (w *weight) Stack() int           { return w.stack }
func (w *weight) Format() metal.Format { return w.format }
func (w *weight) Bytes() int64         { return int64(len(w.data)) + int64(len(w.sb))*4 }

func (w *weight) Free() {
	w.dev.used.Add(-w.Bytes())
	w.dev.weights.give(w.data)
	w.dev.weights.give(bytesOf(w.sb))
	w.data, w.sb = nil, nil
}

// values is the first value of a tile of matrix e.
func (w *weight) values(e, tile int) unsafe.Pointer {
	return unsafe.Pointer(&w.data[(e*w.tiles+tile)*w.step])
}

// scales is the first scale-and-bias word of a tile of matrix e, nil for plain layouts.
func (w *weight) scales(e, tile int) unsafe.Pointer {
	if w.groups == 0 {
		return nil
	}
	return unsafe.Pointer(&w.sb[(e*w.tiles+tile)*w.groups*tileN])
}

// Load repacks a weight for the kernels; the spec's bytes are not kept. Errors wrap ErrWeight or metal.ErrMemory.
func (d *Device) Load(spec metal.WeightSpec) (metal.Weight, error) {
	if err := checkSpec(&spec); err != nil {
		return nil, err
	}
	w := &weight{
		dev: d, name: spec.Name, format: spec.Format, rows: spec.Rows, cols: spec.Cols,
		stack: len(spec.Parts), tiles: (spec.Rows + tileN - 1) / tileN,
	}
	switch spec.Format {
	case metal.FormatBF16:
		w.layout = layBF16
		if spec.Rows <= narrowN && spec.Cols%4 == 0 && d.kernels.rows[layNarrow] > 0 {
			w.layout = layNarrow
		}
	case metal.FormatQ8:
		w.layout, w.center = layQ8, 128
	case metal.FormatQ4:
		w.layout, w.center = layQ4, 8
	default:
		w.layout = layF32
	}
	if spec.Format == metal.FormatQ8 || spec.Format == metal.FormatQ4 {
		w.split = 1
		for spec.Group/w.split > fixedBlock || spec.Group%(4*w.split) != 0 {
			w.split++
		}
		w.group = spec.Group / w.split
		w.groups = spec.Cols / w.group
		if w.layout == layQ4 && w.group%8 != 0 {
			w.layout = layQ8 // a group must fill whole bytes of the kernel's loads
		}
	}
	if g := encodeGroup(spec.Cols); d.kernels.fast && !w.layout.affine() && g > 0 {
		w.coded, w.layout, w.center = true, layQ8, 128
		w.group, w.groups = g, spec.Cols/g
	}
	w.step = w.layout.tileBytes(w.cols)
	tiles := w.stack * w.tiles
	words := tiles * w.groups * tileN
	if err := d.take(int64(tiles)*int64(w.step) + int64(words)*4); err != nil {
		return nil, fmt.Errorf("cpu: load %s: %w", spec.Name, err)
	}
	if !w.take(tiles*w.step, words) {
		d.used.Add(-int64(tiles)*int64(w.step) - int64(words)*4)
		return nil, fmt.Errorf("cpu: load %s: %w: the system gives no more pages", spec.Name, metal.ErrMemory)
	}
	d.workers.run(tiles, max(1, (1<<15)/(w.cols*tileN)), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			if part := &spec.Parts[t/w.tiles]; w.coded {
				w.encode(part, t/w.tiles, t%w.tiles)
			} else {
				w.repack(part, t/w.tiles, t%w.tiles)
			}
		}
	})
	return w, nil
}

// take gives the weight its memory; false: there is none.
func (w *weight) take(bytes, words int) bool {
	data, ok := w.dev.weights.take(bytes)
	if !ok {
		return false
	}
	sb, ok := w.dev.weights.take(4 * words)
	if !ok {
		w.dev.weights.give(data)
		return false
	}
	w.data, w.sb = data, wordsOf(sb)
	return true
}

// checkSpec compares every length with what the shape asks for.
func checkSpec(s *metal.WeightSpec) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrWeight, s.Name, fmt.Sprintf(format, args...))
	}
	if s.Rows <= 0 || s.Cols <= 0 || s.Rows > 1<<31 || s.Cols > 1<<24 {
		return fail("shape: got [%d %d], want 1..2^31 rows of 1..2^24 columns", s.Rows, s.Cols)
	}
	if len(s.Parts) == 0 {
		return fail("parts: got 0, want 1 or more")
	}
	bits, quant := 0, false
	switch s.Format {
	case metal.FormatF32:
		bits = 32
	case metal.FormatF16, metal.FormatBF16:
		bits = 16
	case metal.FormatQ8:
		bits, quant = 8, true
	case metal.FormatQ4:
		bits, quant = 4, true
	default:
		return fail("format: got %d, want one of the metal.Format constants", s.Format)
	}
	affine := 0 // bytes of the scales, and of the biases
	if quant {
		if s.Group <= 0 || s.Group%4 != 0 || s.Cols%s.Group != 0 {
			return fail("group: got %d, want a multiple of 4 that divides %d columns", s.Group, s.Cols)
		}
		if s.Cols*bits%32 != 0 {
			return fail("columns: got %d, want whole 32-bit words of %d-bit codes", s.Cols, bits)
		}
		affine = s.Rows * (s.Cols / s.Group) * 2
	}
	for i, p := range s.Parts {
		for _, f := range []struct {
			field string
			got   int
			want  int
		}{
			{"data", len(p.Data), s.Rows * s.Cols * bits / 8},
			{"scales", len(p.Scales), affine},
			{"biases", len(p.Biases), affine},
		} {
			if f.got != f.want {
				return fail("part %d: %s: got %d bytes, want %d for %s [%d %d] group %d",
					i, f.field, f.got, f.want, s.Format, s.Rows, s.Cols, s.Group)
			}
		}
	}
	return nil
}
