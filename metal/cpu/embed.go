package cpu

import (
	"fmt"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// embedGrain is the number of table values worth handing to another thread.
const embedGrain = 4096

// Embed sets each row of dst [R, copies*H] to `copies` copies of row ids[r] of the table. Values are those Linear
// multiplies by: stored, or fma(scale, q, bias).
func (s *stream) Embed(dst metal.Mat, table metal.Weight, ids []int32, copies int) {
	w := table.(*weight)
	if dst.Rows != len(ids) || dst.Cols != copies*w.cols || w.stack != 1 {
		panic(fmt.Sprintf("cpu: Embed: %s [%d %d] x %d: dst [%d %d], %d ids, %d copies",
			w.name, w.rows, w.cols, w.stack, dst.Rows, dst.Cols, len(ids), copies))
	}
	for r, id := range ids {
		if id < 0 || int(id) >= w.rows {
			panic(fmt.Sprintf("cpu: Embed: %s: id %d of row %d is outside [0, %d)", w.name, id, r, w.rows))
		}
	}
	m := matOf(dst)
	grain := max(1, embedGrain/w.cols)
	if len(ids) <= grain {
		embedRows(m, w, ids, 0, len(ids))
		return
	}
	s.parallel(len(ids), grain, func(lo, hi int) { embedRows(m, w, ids, lo, hi) })
}

func embedRows(dst mat, w *weight, ids []int32, lo, hi int) {
	for r := lo; r < hi; r++ {
		row := dst.row(r)
		w.row(row[:w.cols], int(ids[r]))
		for o := w.cols; o < len(row); o += w.cols {
			copy(row[o:], row[:w.cols])
		}
	}
}

// exactScale is a scale below which its product with a code is exact, 8 bits times 8, so that a fused multiply-add and a plain one round the
// same.
const exactScale = 0x1p100

// row writes the f32 values of output n of the first matrix.
func (w *weight) row(dst []float32, n int) {
	tile, lane := n/tileN, n%tileN
	v := w.values(0, tile)
	switch w.layout {
	case layF32:
		f := unsafe.Slice((*float32)(v), w.cols*tileN)
		for k := range dst {
			dst[k] = f[k*tileN+lane]
		}
	case layBF16:
		u := unsafe.Slice((*uint32)(v), (w.cols+1)/2*tileN)
		for k := range dst {
			dst[k] = bf16(u[k/2*tileN+lane] >> (k & 1 * 16))
		}
	case layNarrow:
		u := unsafe.Slice((*uint16)(v), w.cols*narrowN)
		for k := range dst {
			dst[k] = bf16(uint32(u[(k/4*narrowN+lane)*4+k%4]))
		}
	default:
		sb := w.sb[tile*w.groups*tileN:]
		for g := range w.groups {
			scale, bias := bf16(sb[g*tileN+lane]), bf16(sb[g*tileN+lane]>>16)
			k0 := g * w.group
			if w.layout == layQ8 && scale < exactScale && scale > -exactScale {
				q := unsafe.Slice((*uint8)(v), w.cols*tileN)
				for k := k0; k < k0+w.group; k += 4 {
					four, y := q[(k/4*tileN+lane)*4:][:4], dst[k:][:4]
					for j, c := range four {
						y[j] = float32(scale*float32(c)) + bias
					}
				}
				continue
			}
			if w.layout == layQ8 {
				q := unsafe.Slice((*uint8)(v), w.cols*tileN)
				for k := k0; k < k0+w.group; k++ {
					dst[k] = fma32(scale, float32(q[(k/4*tileN+lane)*4+k%4]), bias)
				}
				continue
			}
			q := unsafe.Slice((*uint8)(v), w.cols/2*tileN)
			for k := k0; k < k0+w.group; k++ {
				dst[k] = fma32(scale, float32(q[(k/8*tileN+lane)*4+k%4]>>(k/4%2*4)&15), bias)
			}
		}
	}
}
