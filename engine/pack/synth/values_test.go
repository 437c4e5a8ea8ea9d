package synth

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// A tensor's numbers do not depend on how it is cut into runs of rows, and have the deviation that was asked for.
func TestRows(t *testing.T) {
	m := mlx.Weights{Name: "x", Stack: 3, Rows: 20, Cols: 320}
	const dev = 0.05
	for _, f := range []quantise.Format{{}, {Bits: 4, Group: 32}, {Bits: 8, Group: 64}, {Bits: 8, Group: 32}} {
		r := rows(newStream(5, m.Name), m, f, dev)
		whole, pieces := read(t, r, m, f, 20), read(t, r, m, f, 7)
		if !slices.Equal(whole, pieces) {
			t.Errorf("%v: runs of 20 and of 7 rows differ", f)
		}
		if slices.Equal(whole[:320], whole[320:640]) || slices.Equal(whole[:6400], whole[6400:12800]) {
			t.Errorf("%v: rows or matrices repeat", f)
		}
		var sum, squares float64
		for _, v := range whole {
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
		}
		n := float64(len(whole))
		if mean, got := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.02*dev || math.Abs(got/dev-1) > 0.04 {
			t.Errorf("%v: got mean %g and deviation %g, want 0 and %g", f, mean, got, dev)
		}
	}
}

// read reads all matrices by runs of n rows, as floats.
func read(t *testing.T, r mlx.Rows, m mlx.Weights, f quantise.Format, n int) (out []float32) {
	t.Helper()
	for part := range m.Stack {
		for from := 0; from < m.Rows; from += n {
			k := min(n, m.Rows-from)
			if r.Values != nil {
				dst := make([]float32, k*m.Cols)
				if err := r.Values(dst, part, from); err != nil {
					t.Fatal(err)
				}
				out = append(out, dst...)
				continue
			}
			a, b, c := f.RowBytes(m.Cols)
			codes, scales, biases := make([]byte, k*a), make([]byte, k*b), make([]byte, k*c)
			if err := r.Codes(codes, scales, biases, part, from); err != nil {
				t.Fatal(err)
			}
			for i := range k * m.Cols {
				q := codes[i*f.Bits/8]
				if f.Bits == 4 {
					q = q >> (i % 2 * 4) & 15
				}
				g := i / f.Group * 2
				out = append(out, wide(scales[g:])*float32(q)+wide(biases[g:]))
			}
		}
	}
	return out
}

func wide(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// Bytes of a stream are the same from any whole word on.
func TestStream(t *testing.T) {
	s := newStream(1, "a")
	all := make([]byte, 100)
	s.bytes(all, 0)
	tail := make([]byte, 60)
	s.bytes(tail, 40)
	if !bytes.Equal(tail, all[40:]) {
		t.Errorf("got %x, want %x", tail, all[40:])
	}
	if newStream(1, "b") == s || newStream(2, "a") == s {
		t.Error("another name or seed gives the same stream")
	}
}
