package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/flashlane/flashlane/engine/pack"
)

// ErrValue marks values that have no code: a NaN, an infinity, or a group whose range is too wide for a bf16 scale.
var ErrValue = errors.New("quantise: not a value that can be written")

// Format is how a matrix is written: codes of Bits (4 or 8), and one bf16 scale and bias for each Group columns. The zero
// value is plain bf16.
type Format struct {
	Bits, Group int
}

// Quantised says whether there are codes at all.
func (f Format) Quantised() bool { return f.Bits != 0 }

// String is "q4/32" or "bf16".
func (f Format) String() string {
	if f.Bits == 0 {
		return "bf16"
	}
	return fmt.Sprintf("q%d/%d", f.Bits, f.Group)
}

// RowBytes is the length of a row of cols columns in each of the three planes; scales and biases are 0 for bf16.
func (f Format) RowBytes(cols int) (weight, scales, biases int) {
	if f.Bits == 0 {
		return 2 * cols, 0, 0
	}
	side := cols / f.Group * 2
	return cols * f.Bits / 8, side, side
}

// Encode writes vals, whole rows one after the other, to the planes; their lengths are RowBytes times the rows. Values are
// rounded to bf16 first, as the cast does that public tooling makes before it quantises. For bf16 that is all, and scales
// and biases are nil.
//
// A group's scale is (max-min)/(2^bits-1) and its bias min, in f32, both rounded to bf16; a code is (v-bias)/scale in f32
// with these rounded values, rounded half to even and held in range. So what a scale loses by rounding, its codes take
// into account, and an error is at most half a step but at the ends of the range. (mx.quantize of MLX chooses the ends
// another way: it makes one of them exact and lets the scale be negative. Both read alike: w = scale*q + bias.)
//
// The error wraps ErrValue and names the first element that cannot be written.
func (f Format) Encode(weight, scales, biases []byte, vals []float32) error {
	if f.Bits == 0 {
		return plain(weight, vals)
	}
	top := float32(int(1)<<f.Bits - 1)
	for at := 0; at < len(vals); at += f.Group {
		g := vals[at : at+f.Group]
		lo, hi, err := span(g, at)
		if err != nil {
			return err
		}
		s := pack.RoundBF16((hi - lo) / top)
		if s >= 0x7f80 {
			return fmt.Errorf("%w: elements %d to %d span %g to %g, too wide for a bf16 scale", ErrValue, at, at+f.Group-1, lo, hi)
		}
		binary.LittleEndian.PutUint16(scales, s)
		binary.LittleEndian.PutUint16(biases, pack.RoundBF16(lo)) // exact: the values are bf16
		scales, biases = scales[2:], biases[2:]
		codes(weight[:f.Group*f.Bits/8], g, math.Float32frombits(uint32(s)<<16), lo, top, f.Bits)
		weight = weight[f.Group*f.Bits/8:]
	}
	return nil
}

// plain writes bf16.
func plain(dst []byte, vals []float32) error {
	for i, v := range vals {
		h := pack.RoundBF16(v)
		if h&0x7f80 == 0x7f80 {
			return notFinite(i, v)
		}
		binary.LittleEndian.PutUint16(dst[2*i:], h)
	}
	return nil
}

// span rounds a group's values to bf16 where they lie and returns the smallest and largest.
func span(g []float32, at int) (lo, hi float32, err error) {
	lo, hi = float32(math.Inf(1)), float32(math.Inf(-1))
	for i, v := range g {
		b := math.Float32bits(v)
		if b&0xffff != 0 {
			b = uint32(pack.RoundBF16(v)) << 16
			g[i] = math.Float32frombits(b)
		}
		if b&0x7f800000 == 0x7f800000 {
			return 0, 0, notFinite(at+i, v)
		}
		lo, hi = min(lo, g[i]), max(hi, g[i])
	}
	return lo, hi, nil
}

func notFinite(at int, v float32) error {
	return fmt.Errorf("%w: got %v at element %d, want finite numbers within the range of bf16", ErrValue, v, at)
}

// codes packs one group, low bits first (spec 5.3).
func codes(dst []byte, g []float32, scale, bias, top float32, bits int) {
	if scale == 0 { // all values are equal, or nearer to each other than bf16 can tell
		clear(dst)
		return
	}
	if bits == 8 {
		for i, v := range g {
			dst[i] = byte(code(v, scale, bias, top))
		}
		return
	}
	for i := range dst {
		dst[i] = byte(code(g[2*i], scale, bias, top) | code(g[2*i+1], scale, bias, top)<<4)
	}
}

// code is the rounded quotient. Adding 1.5*2^23 leaves the nearest integer, ties to even, in the low bits of the sum.
func code(v, scale, bias, top float32) uint32 {
	x := min(max((v-bias)/scale, 0), top)
	return math.Float32bits(x+0x1.8p23) & 0xff
}
