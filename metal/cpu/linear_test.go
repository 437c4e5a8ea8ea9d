package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// TestLinearBits compares every kernel set with the canonical sum, bit by bit.
func TestLinearBits(t *testing.T) {
	type shape struct{ rows, cols, group int }
	shapes := []shape{{1, 8, 8}, {3, 40, 8}, {16, 64, 64}, {17, 72, 12}, {31, 32, 4}, {32, 96, 32}, {66, 128, 64}, {5, 1040, 520}, {4, 64, 32}, {2, 120, 40}}
	plain := []shape{{1, 1, 0}, {5, 2, 0}, {16, 3, 0}, {33, 7, 0}, {20, 9, 0}, {48, 131, 0}}
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, f := range allFormats {
			all := shapes
			if f == metal.FormatF32 || f == metal.FormatF16 || f == metal.FormatBF16 {
				all = append(plain, shapes...)
			}
			for _, sh := range all {
				if f == metal.FormatQ4 && sh.cols%8 != 0 {
					continue
				}
				rng := rand.New(rand.NewPCG(uint64(sh.rows), uint64(sh.cols)))
				spec := randomSpec(rng, f, sh.rows, sh.cols, sh.group, 1)
				w := s.mustLoad(t, spec)
				spec = asMultiplied(s.precision(), spec)
				top := 17
				if sh.rows*sh.cols < 3000 {
					top = 50
				}
				x := s.randomMat(t, rng, top, sh.cols)
				want := make([][]float32, top)
				for r := range want {
					for n := range sh.rows {
						want[r] = append(want[r], refProduct(s.precision(), &spec, 0, n, matOf(x).row(r)))
					}
				}
				for _, m := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 50} {
					if m > top {
						continue
					}
					y := s.randomMat(t, rng, m, sh.rows)
					s.Linear(y, x.RowsOf(0, m), w)
					checkMargins(t, y)
					for r := range m {
						for n, got := range matOf(y).row(r) {
							if !sameBits(got, want[r][n]) {
								t.Fatalf("%s [%d %d] group %d, %d rows: y[%d][%d]: got %x, want %x", f, sh.rows, sh.cols, sh.group, m, r, n, got, want[r][n])
							}
						}
					}
				}
				w.Free()
			}
		}
	})
}

// TestLinearRowsAlone checks that a row's bits do not depend on the rows beside it, through the sizes where the cut into
// blocks, chunks and threads changes.
func TestLinearRowsAlone(t *testing.T) {
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, f := range allFormats {
			rng := rand.New(rand.NewPCG(7, uint64(f)))
			w := s.mustLoad(t, randomSpec(rng, f, 100, 128, 32, 1))
			x := s.randomMat(t, rng, 101, 128)
			together, alone := s.randomMat(t, rng, 101, 100), s.randomMat(t, rng, 101, 100)
			for r := range x.Rows {
				s.Linear(alone.RowsOf(r, 1), x.RowsOf(r, 1), w)
			}
			for _, n := range []int{101, 64, 49, 48, 13} {
				s.Linear(together.RowsOf(0, n), x.RowsOf(0, n), w)
				for r := range n {
					for i, got := range matOf(together).row(r) {
						if want := matOf(alone).row(r)[i]; !sameBits(got, want) {
							t.Fatalf("%s, %d rows: y[%d][%d]: got %x, alone %x", f, n, r, i, got, want)
						}
					}
				}
			}
		}
	})
}

// TestLinearStreams runs two streams of one device at once: the one that finds the pool busy has the same bits.
func TestLinearStreams(t *testing.T) {
	d := testDevice(t, Options{Threads: 2})
	rng := rand.New(rand.NewPCG(3, 4))
	one := newStream(d)
	w := one.mustLoad(t, randomSpec(rng, metal.FormatQ8, 512, 256, 64, 1))
	x, want := one.randomMat(t, rng, 2, 256), one.randomMat(t, rng, 2, 512)
	one.Linear(want, x, w)
	done := make(chan string)
	for range 3 {
		go func() {
			s := newStream(d)
			y := s.randomMat(t, rand.New(rand.NewPCG(1, 1)), 2, 512)
			for range 200 {
				s.Linear(y, x, w)
				for r := range 2 {
					for i, got := range matOf(y).row(r) {
						if want := matOf(want).row(r)[i]; !sameBits(got, want) {
							done <- fmt.Sprintf("y[%d][%d]: got %x, want %x", r, i, got, want)
							return
						}
					}
				}
			}
			done <- ""
		}()
	}
	for range 3 {
		if msg := <-done; msg != "" {
			t.Error(msg)
		}
	}
}

func TestLinearAllocs(t *testing.T) {
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, m := range []int{1, 4, 64} {
			rng := rand.New(rand.NewPCG(5, 6))
			w := s.mustLoad(t, randomSpec(rng, metal.FormatQ8, 128, 64, 32, 1))
			x, y := s.randomMat(t, rng, m, 64), s.randomMat(t, rng, m, 128)
			if got := testing.AllocsPerRun(10, func() { s.Linear(y, x, w) }); got != 0 {
				t.Errorf("%d rows: got %g allocations a call, want 0", m, got)
			}
		}
	})
}

func TestLinearShapes(t *testing.T) {
	s := newStream(testDevice(t, Options{Threads: 1}))
	rng := rand.New(rand.NewPCG(5, 6))
	w := s.mustLoad(t, randomSpec(rng, metal.FormatF32, 8, 4, 0, 1))
	s.Linear(metal.Mat{Cols: 8}, metal.Mat{Cols: 4}, w) // no rows: nothing to do
	for name, bad := range map[string][2]metal.Mat{
		"columns of x":   {s.randomMat(t, rng, 1, 8), s.randomMat(t, rng, 1, 5)},
		"columns of dst": {s.randomMat(t, rng, 1, 9), s.randomMat(t, rng, 1, 4)},
		"rows":           {s.randomMat(t, rng, 2, 8), s.randomMat(t, rng, 1, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("got no panic")
				}
			}()
			s.Linear(bad[0], bad[1], w)
		})
	}
}
