package synth

import (
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/flashlane/flashlane/engine/pack"
)

// stream is an endless row of random 64-bit words, any of which can be had without those before it (SplitMix64, whose
// state is a counter). It belongs to one tensor.
type stream uint64

// newStream is the stream of a seed and a name.
func newStream(seed uint64, name string) stream {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, seed) // a hash takes everything
	_, _ = h.Write([]byte(name))
	return stream(h.Sum64())
}

// word is the i-th.
func (s stream) word(i uint64) uint64 {
	v := uint64(s) + (i+1)*0x9E3779B97F4A7C15
	v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
	v = (v ^ v>>27) * 0x94D049BB133111EB
	return v ^ v>>31
}

// unit is the i-th as a number in [0, 1).
func (s stream) unit(i uint64) float64 { return float64(s.word(i)>>11) / (1 << 53) }

// bytes fills dst with the stream's bytes from at on; both in whole words but for dst's end.
func (s stream) bytes(dst []byte, at uint64) {
	i := at / 8
	for ; len(dst) >= 8; i++ {
		binary.LittleEndian.PutUint64(dst, s.word(i))
		dst = dst[8:]
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], s.word(i))
		copy(dst, last[:])
	}
}

// bell is a normal distribution of 4096 values, all exact in bf16: drawing one is a look-up.
type bell [4096]float32

// newBell has standard deviation dev.
func newBell(dev float64) *bell {
	var b bell
	for i := range b {
		p := (float64(i) + 0.5) / float64(len(b))
		b[i] = round(dev * math.Sqrt2 * math.Erfinv(2*p-1))
	}
	return &b
}

// fill draws values of the stream from element at on; four come from each word.
func (b *bell) fill(dst []float32, s stream, at uint64) {
	for i := range dst {
		e := at + uint64(i)
		dst[i] = b[s.word(e/4)>>(16*(e%4))&4095]
	}
}

// round is the nearest bf16.
func round(x float64) float32 {
	return math.Float32frombits(uint32(pack.RoundBF16(float32(x))) << 16)
}
