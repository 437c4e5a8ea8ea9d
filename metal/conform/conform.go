package conform

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// opCase is one set of shapes of one op.
type opCase struct {
	op   string
	name string
	make func(e *env) *call
}

// call is a case with its operands on the device.
type call struct {
	rows  int                               // rows that can be run apart; 0 if there are none
	outs  []*operand                        // what the op writes
	run   func(st metal.Stream, lo, hi int) // runs rows lo..hi-1
	check func()                            // compares outs with the reference after all rows ran
	whole bool                              // rows depend on each other: no row-by-row check
	bytes int64                             // memory the op must move at least, for Bench
}

// cases is every op's table.
func cases() []opCase {
	var all []opCase
	for _, c := range [][]opCase{
		transferCases(), embedCases(), normCases(), linearCases(), siluCases(), mixStreamsCases(), gainCases(), injectCases(), addStreamsCases(),
		addBothCases(), convCases(), keepTailCases(), decayCases(), deltaCases(), gatedNormCases(), normRopeCases(), poolCases(),
		selectCases(), attendCases(), routeCases(), expertsCases(), addGatedCases(), gateCases(), argMaxCases(), mixCases(), fusedCases(),
	} {
		all = append(all, c...)
	}
	return all
}

// clip cuts rows lo..hi-1 out of spans of n rows each, laid end to end, and calls f with each part: span k, rows from..from+n-1.
func clip(ns []int, lo, hi int, f func(k, from, n int)) {
	base := 0
	for k, n := range ns {
		a, b := max(lo-base, 0), min(hi-base, n)
		if a < b {
			f(k, a, b-a)
		}
		base += n
	}
}

// Run checks the device that open returns. Subtests are named op/case/layout.
func Run(t *testing.T, open func(t *testing.T) metal.Device) {
	dev := open(t)
	before := dev.Used()
	for _, c := range cases() {
		t.Run(c.op+"/"+c.name, func(t *testing.T) {
			var packed [][]uint32
			t.Run(layout(false), func(t *testing.T) { packed = c.test(newEnv(t, dev, c, false)) })
			t.Run(layout(true), func(t *testing.T) {
				e := newEnv(t, dev, c, true)
				for i, got := range c.test(e) {
					e.same(fmt.Sprintf("%s output %d, view against packed", c.op, i), got, packed[i])
				}
			})
		})
	}
	t.Run("streams", func(t *testing.T) { testStreams(t, dev) })
	t.Run("memory", func(t *testing.T) { testMemory(t, dev) })
	if got := dev.Used(); got != before {
		t.Errorf("device memory after all cases: got %d bytes in use, want %d as before", got, before)
	}
}

// Bench times every case, packed; sub-benchmarks are named op/case.
func Bench(b *testing.B, open func(b *testing.B) metal.Device) {
	dev := open(b)
	for _, c := range cases() {
		b.Run(c.op+"/"+c.name, func(b *testing.B) {
			e := newEnv(b, dev, c, false)
			k := c.make(e)
			defer e.free()
			b.SetBytes(k.bytes)
			b.ReportAllocs()
			k.run(e.st, 0, k.rows)
			e.sync()
			for b.Loop() {
				k.run(e.st, 0, k.rows)
				e.sync()
			}
		})
	}
}

// Digests runs every case in both layouts and returns the hash of all result bits by case. Two devices whose Info.Kind is
// equal must return equal maps.
func Digests(t *testing.T, dev metal.Device) map[string][32]byte {
	sums := map[string][32]byte{}
	for _, c := range cases() {
		for _, view := range []bool{false, true} {
			e := newEnv(t, dev, c, view)
			k := c.make(e)
			k.run(e.st, 0, k.rows)
			h := sha256.New()
			for _, o := range k.outs {
				if err := binary.Write(h, binary.LittleEndian, o.bits()); err != nil {
					t.Fatal(err)
				}
			}
			sums[c.op+"/"+c.name+"/"+layout(view)] = [32]byte(h.Sum(nil))
			e.free()
		}
	}
	return sums
}

func layout(view bool) string {
	if view {
		return "view"
	}
	return "packed"
}

// test runs the case once against the reference, then row by row and in two parts against its own bits, which it returns.
func (c opCase) test(e *env) [][]uint32 {
	k := c.make(e)
	defer e.free()
	k.run(e.st, 0, k.rows)
	want := make([][]uint32, len(k.outs))
	for i, o := range k.outs {
		want[i] = o.bits()
	}
	k.check()
	if k.whole || k.rows < 2 {
		return want
	}
	compare := func(how string) {
		e.tb.Helper()
		for i, o := range k.outs {
			e.same(fmt.Sprintf("%s output %d, %s against all rows at once", c.op, i, how), o.bits(), want[i])
			o.reset()
		}
	}
	for _, o := range k.outs {
		o.reset()
	}
	for r := range k.rows {
		k.run(e.st, r, r+1)
	}
	compare("row by row")
	cut := (k.rows + 1) / 3
	k.run(e.st, cut, k.rows)
	k.run(e.st, 0, cut)
	compare("in two parts, the last first")
	return want
}

// env is one case's device, stream and random values.
type env struct {
	tb    testing.TB
	dev   metal.Device
	st    metal.Stream
	rng   *rand.Rand
	view  bool
	owned []interface{ Free() }
}

// newEnv seeds the values by the case's name, so that each case has the same ones in every run, layout and device; products
// are rounded before they are added, so on every machine too.
func newEnv(tb testing.TB, dev metal.Device, c opCase, view bool) *env {
	h := fnv.New64a()
	h.Write([]byte(c.op + "/" + c.name))
	return &env{tb: tb, dev: dev, st: dev.NewStream(), rng: rand.New(rand.NewPCG(h.Sum64(), 1)), view: view}
}

// free gives all of the case's memory back.
func (e *env) free() {
	for _, o := range e.owned {
		o.Free()
	}
	e.owned = nil
}

func (e *env) sync() {
	if err := e.st.Sync(); err != nil {
		e.tb.Fatal(err)
	}
}

// normal is a value near N(0, 1).
func (e *env) normal() float32 { return float32(e.rng.NormFloat64()) }

// scaled is a source of N(0, sigma) values.
func (e *env) scaled(sigma float64) func() float32 {
	return func() float32 { return float32(sigma * e.rng.NormFloat64()) }
}

// near1 is a value like a norm's effective weight.
func (e *env) near1() float32 { return 1 + float32(0.2*e.rng.NormFloat64()) }

// unit is a value in (0, 1).
func (e *env) unit() float32 { return float32(float64(e.rng.Float64()*0.98) + 0.01) }

// whole is a source of whole numbers -n..n, whose products and sums are exact in any order.
func (e *env) whole(n int) func() float32 {
	return func() float32 { return float32(e.rng.IntN(2*n+1) - n) }
}

// tolerance bounds |got-want| by abs + rel*|want|.
type tolerance struct{ abs, rel float64 }

// near compares results with the reference; cols is the row width, for the message.
func (e *env) near(what string, cols int, got []float32, want []float64, tol tolerance) {
	e.tb.Helper()
	if len(got) != len(want) {
		e.tb.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	bad, count, worst := -1, 0, 0.0
	for i, w := range want {
		d := math.Abs(float64(got[i]) - w)
		if d <= tol.abs+tol.rel*math.Abs(w) || float64(got[i]) == w || math.IsNaN(w) && got[i] != got[i] {
			continue
		}
		if bad < 0 {
			bad = i
		}
		count++
		worst = max(worst, d)
	}
	if bad >= 0 {
		e.tb.Errorf("%s: %d of %d values off, largest difference %g; first at row %d column %d: got %v, want %v (allowed %g + %g*|want|)", what,
			count, len(want), worst, bad/cols, bad%cols, got[bad], want[bad], tol.abs, tol.rel)
	}
}

// same compares bits.
func (e *env) same(what string, got, want []uint32) {
	e.tb.Helper()
	if len(got) != len(want) {
		e.tb.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			e.tb.Errorf("%s: value %d of %d: got bits %08x (%g), want %08x (%g)", what, i, len(want), got[i], math.Float32frombits(got[i]),
				want[i], math.Float32frombits(want[i]))
			return
		}
	}
}
