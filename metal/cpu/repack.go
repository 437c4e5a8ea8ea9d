package cpu

import (
	"encoding/binary"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// repack writes one tile of matrix e from the pack's row-major bytes. Rows past the end stay zero.
func (w *weight) repack(p *metal.Part, e, tile int) {
	at := e*w.tiles + tile
	dst := w.data[at*w.step : (at+1)*w.step]
	n := min(tileN, w.rows-tile*tileN)
	le := binary.LittleEndian
	for lane := range n {
		row := tile*tileN + lane
		switch w.format {
		case metal.FormatF32:
			src := p.Data[row*w.cols*4:][:w.cols*4]
			for k := range w.cols {
				le.PutUint32(dst[(k*tileN+lane)*4:], le.Uint32(src[k*4:]))
			}
		case metal.FormatF16:
			src := p.Data[row*w.cols*2:][:w.cols*2]
			for k := range w.cols {
				le.PutUint32(dst[(k*tileN+lane)*4:], math.Float32bits(halfToFloat(le.Uint16(src[k*2:]))))
			}
		case metal.FormatBF16:
			src := p.Data[row*w.cols*2:][:w.cols*2]
			for k := range w.cols {
				at := (k/2*tileN+lane)*4 + k%2*2
				if w.layout == layNarrow {
					at = (k/4*narrowN+lane)*8 + k%4*2
				}
				le.PutUint16(dst[at:], le.Uint16(src[k*2:]))
			}
		case metal.FormatQ8:
			src := p.Data[row*w.cols:][:w.cols]
			for k, q := range src {
				dst[(k/4*tileN+lane)*4+k%4] = q
			}
		case metal.FormatQ4:
			src := p.Data[row*w.cols/2:][:w.cols/2]
			for k := range w.cols {
				q := src[k/2] >> (k % 2 * 4) & 15
				if w.layout == layQ8 {
					dst[(k/4*tileN+lane)*4+k%4] = q
				} else {
					dst[(k/8*tileN+lane)*4+k%4] |= q << (k / 4 % 2 * 4)
				}
			}
		}
		for g := range w.groups {
			o := (row*(w.groups/w.split) + g/w.split) * 2
			w.sb[(at*w.groups+g)*tileN+lane] = uint32(le.Uint16(p.Scales[o:])) | uint32(le.Uint16(p.Biases[o:]))<<16
		}
	}
}

// halfToFloat is the exact f32 value of an IEEE binary16.
func halfToFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac * 2^-24
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
