package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The vector scan and the plain one see the same in every row: bad values wherever they stand, ties, zeros of both signs, short rows.
func TestScanBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	bad := []float32{float32(math.NaN()), float32(math.Inf(1)), negInf}
	for n := 1; n < 700; n += 1 + rng.IntN(9) {
		row := gaussianRow(rng, n, 4)
		for range rng.IntN(4) { // ties, and zeros of both signs
			row[rng.IntN(n)] = row[rng.IntN(n)]
			row[rng.IntN(n)] = float32(math.Copysign(0, rng.Float64()-0.5))
		}
		finite := rng.IntN(3) > 0
		if !finite {
			row[rng.IntN(n)] = bad[rng.IntN(len(bad))]
		}
		got, ok := scan(nil, row)
		want := make([]float32, len(got))
		if worst := scanGeneric(want, row); ok != finite || (worst>>31 == 0) != finite {
			t.Fatalf("%d values: finite is %v by the scan, %v by the plain one, want %v", n, ok, worst>>31 == 0, finite)
		}
		if !finite {
			continue
		}
		for b := range want {
			if got[b] != want[b] {
				t.Fatalf("%d values, block %d: highest is %v, want %v", n, b, got[b], want[b])
			}
		}
		best, at := negInf, int32(-1)
		for i, x := range row {
			if x > best {
				best, at = x, int32(i)
			}
		}
		if top, first := argmax(row, got); top != best || first != at {
			t.Fatalf("%d values: argmax is %v at %d, want %v at %d", n, top, first, best, at)
		}
	}
}

// Forbidden ids are at minus infinity: whole blocks of them, and nothing else.
func TestScanForbidden(t *testing.T) {
	row := make([]float32, 5*block+3)
	for i := range row {
		row[i] = negInf
	}
	maxima, _ := scan(nil, row)
	if _, at := argmax(row, maxima); at != -1 {
		t.Fatalf("argmax of nothing is id %d, want -1", at)
	}
	row[3*block+7] = -5
	maxima, _ = scan(maxima, row)
	if top, at := argmax(row, maxima); top != -5 || at != 3*block+7 {
		t.Fatalf("argmax is %v at %d, want -5 at %d", top, at, 3*block+7)
	}
}
