package conform

import (
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
)

// faulty is a device whose streams have one fault.
type faulty struct {
	metal.Device
	wrap func(metal.Stream) metal.Stream
}

func (f faulty) NewStream() metal.Stream { return f.wrap(f.Device.NewStream()) }

// recorder takes a case's failures in place of the test.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// The faults: each a mistake that a device could make and that a casual test would miss.
type (
	coarseNorm  struct{ metal.Stream } // one element is 1e-4 off
	rowsLinear  struct{ metal.Stream } // bits depend on how many rows run together
	wideInject  struct{ metal.Stream } // writes one element past the view
	blindSelect struct{ metal.Stream } // does not look at the queries
	allKeepTail struct{ metal.Stream } // keeps the rejected rows
	staleDelta  struct{ metal.Stream } // leaves the state alone when there is no output
	shortAttend struct{ metal.Stream } // does not see its own token
	halfArgMax  struct{ metal.Stream } // looks at half of the row
	rawRoute    struct{ metal.Stream } // forgets to renormalise
	sumMix      struct{ metal.Stream } // adds the streams where it should average them
)

func (s coarseNorm) Norm(dst, src metal.Mat, w metal.Vec, groups int, eps float32) {
	s.Stream.Norm(dst, src, w, groups, eps)
	nudge(s.Stream, dst, func(v float32) float32 { return v * 1.0001 })
}

func (s rowsLinear) Linear(dst, x metal.Mat, w metal.Weight) {
	s.Stream.Linear(dst, x, w)
	nudge(s.Stream, dst, func(v float32) float32 { return v * (1 + float32(dst.Rows)*0x1p-23) })
}

func (s wideInject) Inject(x, c, y metal.Mat) {
	s.Stream.Inject(x, c, y)
	if x.Rows > 0 && x.Stride > x.Cols {
		s.Stream.Zero(metal.Vec{Buf: x.Buf, Off: x.Off + x.Cols, N: 1})
	}
}

func (s blindSelect) Select(sel, qi metal.Mat, heads, dim, ratio, top int, spans []metal.SelectSpan) {
	s.Stream.Zero(metal.NewVec(qi.Buf))
	s.Stream.Select(sel, qi, heads, dim, ratio, top, spans)
}

func (s allKeepTail) KeepTail(src metal.Mat, spans []metal.TailSpan) {
	all := append([]metal.TailSpan{}, spans...)
	for i := range all {
		all[i].Keep = all[i].N
	}
	s.Stream.KeepTail(src, all)
}

func (s staleDelta) Delta(o, qkv, beta, decay metal.Mat, shape metal.DeltaShape, spans []metal.DeltaSpan) {
	if o.Rows > 0 {
		s.Stream.Delta(o, qkv, beta, decay, shape, spans)
	}
}

func (s shortAttend) Attend(dst, q, gate, sel metal.Mat, shape metal.AttendShape, spans []metal.AttendSpan) {
	short := append([]metal.AttendSpan{}, spans...)
	for i := range short {
		short[i].Pos = max(0, short[i].Pos-1)
	}
	s.Stream.Attend(dst, q, gate, sel, shape, short)
}

func (s halfArgMax) ArgMax(ids, x metal.Mat) {
	for r := range x.Rows {
		s.Stream.ArgMax(ids.RowsOf(r, 1), x.RowsOf(r, 1).ColsOf(x.Cols/2, x.Cols-x.Cols/2))
	}
}

func (s rawRoute) Route(ids, w, logits metal.Mat, _ bool) { s.Stream.Route(ids, w, logits, false) }

func (s sumMix) MixStreams(u, mix, normed metal.Mat, streams int) {
	s.Stream.MixStreams(u, mix, normed, streams)
	for r := range u.Rows {
		nudge(s.Stream, u.RowsOf(r, 1), func(v float32) float32 { return v * float32(streams) })
	}
}

// nudge changes the first element of m.
func nudge(st metal.Stream, m metal.Mat, f func(float32) float32) {
	if m.Rows == 0 {
		return
	}
	at, v := metal.Vec{Buf: m.Buf, Off: m.Off, N: 1}, make([]float32, 1)
	if err := st.Read(v, at); err != nil {
		panic(err)
	}
	st.Write(at, []float32{f(v[0])})
}

// TestFaults checks the suite itself: it must fail a device for each of these.
func TestFaults(t *testing.T) {
	dev, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for _, f := range []struct {
		name, op, kase string
		view           bool
		wrap           func(metal.Stream) metal.Stream
	}{
		{"none", "Norm", "nano", true, func(s metal.Stream) metal.Stream { return s }},
		{"accuracy", "Norm", "odd", false, func(s metal.Stream) metal.Stream { return coarseNorm{s} }},
		{"row-exactness", "Linear", "f32-r3-n5-k7", false, func(s metal.Stream) metal.Stream { return rowsLinear{s} }},
		{"outside the view", "Inject", "odd", true, func(s metal.Stream) metal.Stream { return wideInject{s} }},
		{"wrong blocks", "Select", "exact", false, func(s metal.Stream) metal.Stream { return blindSelect{s} }},
		{"rejected rows kept", "KeepTail", "short", false, func(s metal.Stream) metal.Stream { return allKeepTail{s} }},
		{"state without output", "Delta", "odd", false, func(s metal.Stream) metal.Stream { return staleDelta{s} }},
		{"own token not seen", "Attend", "dense-odd", false, func(s metal.Stream) metal.Stream { return shortAttend{s} }},
		{"wrong column", "ArgMax", "ties", false, func(s metal.Stream) metal.Stream { return halfArgMax{s} }},
		{"no renormalisation", "Route", "nano", false, func(s metal.Stream) metal.Stream { return rawRoute{s} }},
		{"composition", "Mix", "q8-g32-r4-h256-s4-l32-inject=true", false, func(s metal.Stream) metal.Stream { return sumMix{s} }},
	} {
		t.Run(f.name, func(t *testing.T) {
			found := false
			for _, c := range cases() {
				if c.op != f.op || c.name != f.kase {
					continue
				}
				found = true
				got := failuresOf(t, faulty{dev, f.wrap}, c, f.view)
				if (len(got) == 0) != (f.name == "none") {
					t.Errorf("%s/%s on a device with fault %q: got %d failures %q", c.op, c.name, f.name, len(got), got)
				}
			}
			if !found {
				t.Fatalf("there is no case %s/%s", f.op, f.kase)
			}
		})
	}
	if got := dev.Used(); got != 0 {
		t.Errorf("memory after all cases: got %d bytes in use, want 0", got)
	}
}

func failuresOf(t *testing.T, dev metal.Device, c opCase, view bool) []string {
	r := &recorder{TB: t}
	e := newEnv(r, dev, c, view)
	func() {
		defer func() {
			if v := recover(); v != nil && v != any(r) {
				panic(v)
			}
		}()
		c.test(e)
	}()
	return r.failures
}
