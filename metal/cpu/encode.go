package cpu

import (
	"encoding/binary"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// Precision Fast multiplies 8-bit numbers only, so weights that the pack has in 16 or 32 bits are brought to codes at load: in
// groups of 64 columns, or of 32 if those fill no row; if neither does, the weight stays as it is. A group's scale is its
// range/255 and its bias its smallest value, both rounded to bf16, and a code is (v-bias)/scale with these, rounded half to even:
// the rule by which packs are quantised (engine/pack/quantise). A group with a value that is not finite is NaN throughout.

// encodeGroup is the columns of a group of codes, 0 if the weight stays as it is.
func encodeGroup(cols int) int {
	for _, g := range []int{64, 32} {
		if cols%g == 0 {
			return g
		}
	}
	return 0
}

// encode writes one tile of matrix e as codes. Rows past the end stay zero.
func (w *weight) encode(p *metal.Part, e, tile int) {
	at := e*w.tiles + tile
	dst := w.data[at*w.step : (at+1)*w.step]
	vals := make([]float32, w.group)
	for lane := range min(tileN, w.rows-tile*tileN) {
		for g := range w.groups {
			from := g * w.group
			for i := range vals {
				vals[i] = plainValue(p, w.format, (tile*tileN+lane)*w.cols+from+i)
			}
			scale, bias := fitGroup(vals)
			w.sb[(at*w.groups+g)*tileN+lane] = scale | bias<<16
			for i, v := range vals {
				k := from + i
				dst[(k/4*tileN+lane)*4+k%4] = codeOf(v, bf16(scale), bf16(bias))
			}
		}
	}
}

// plainValue is element i of a matrix that has no codes.
func plainValue(p *metal.Part, f metal.Format, i int) float32 {
	le := binary.LittleEndian
	switch f {
	case metal.FormatBF16:
		return bf16(uint32(le.Uint16(p.Data[2*i:])))
	case metal.FormatF16:
		return halfToFloat(le.Uint16(p.Data[2*i:]))
	default:
		return math.Float32frombits(le.Uint32(p.Data[4*i:]))
	}
}

// fitGroup is a group's scale and bias, as bf16.
func fitGroup(vals []float32) (scale, bias uint32) {
	lo, hi := vals[0], vals[0]
	for _, v := range vals {
		lo, hi = min(lo, v), max(hi, v) // NaN if there is one
	}
	return roundBF16((hi - lo) / 255), roundBF16(lo)
}

// roundBF16 is the bfloat16 nearest to v, ties to even; 0x7fc0 for what is not finite.
func roundBF16(v float32) uint32 {
	if v-v != 0 {
		return 0x7fc0
	}
	u := math.Float32bits(v)
	return (u + 0x7fff + u>>16&1) >> 16
}

// codeOf is the code of v in a group.
func codeOf(v, scale, bias float32) uint8 {
	if x := math.RoundToEven(float64((v - bias) / scale)); x > 0 { // not if it is NaN; with scale 0 any code will do
		return uint8(min(x, 255))
	}
	return 0
}
