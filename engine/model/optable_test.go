package model_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/metal"
)

// op is what one op cost in a pass.
type op struct {
	time  time.Duration
	calls int
	bytes int64 // of weights
	macs  int64
}

type ops map[string]op

// meter adds up what the ops of all streams of a device cost, by the op's name and, for Linear, the weight's.
type meter struct {
	metal.Device
	on    bool
	fused bool
	ops   ops
}

func (m *meter) NewStream() metal.Stream {
	st := &metered{m.Device.NewStream(), m}
	if m.fused {
		return &fusedMetered{st}
	}
	return st
}

func (m *meter) add(name string, start time.Time, bytes, macs int64) {
	if m.on {
		o := m.ops[name]
		m.ops[name] = op{o.time + time.Since(start), o.calls + 1, o.bytes + bytes, o.macs + macs}
	}
}

// metered is a stream whose ops are timed. Ops of the CPU device are done when they return.
type metered struct {
	metal.Stream
	m *meter
}

func (s *metered) Embed(dst metal.Mat, table metal.Weight, ids []int32, copies int) {
	t := time.Now()
	s.Stream.Embed(dst, table, ids, copies)
	s.m.add("Embed", t, 0, 0)
}

func (s *metered) Norm(dst, src metal.Mat, w metal.Vec, groups int, eps float32) {
	t := time.Now()
	s.Stream.Norm(dst, src, w, groups, eps)
	s.m.add("Norm", t, 0, 0)
}

func (s *metered) Linear(dst, x metal.Mat, w metal.Weight) {
	t := time.Now()
	s.Stream.Linear(dst, x, w)
	name := strings.TrimSuffix(w.Name(), ".weight")
	name = name[strings.LastIndex(name, ".")+1:]
	s.m.add("Linear "+name, t, w.Bytes(), int64(x.Rows)*int64(w.Rows())*int64(w.Cols()))
}

func (s *metered) SiluScale(x metal.Mat, scale float32) {
	t := time.Now()
	s.Stream.SiluScale(x, scale)
	s.m.add("SiluScale", t, 0, 0)
}

func (s *metered) MixStreams(u, mix, normed metal.Mat, streams int) {
	t := time.Now()
	s.Stream.MixStreams(u, mix, normed, streams)
	s.m.add("MixStreams", t, 0, 0)
}

func (s *metered) Gain(c metal.Mat, scale float32) {
	t := time.Now()
	s.Stream.Gain(c, scale)
	s.m.add("Gain", t, 0, 0)
}

func (s *metered) Inject(x, c, y metal.Mat) {
	t := time.Now()
	s.Stream.Inject(x, c, y)
	s.m.add("Inject", t, 0, 0)
}

func (s *metered) Conv(dst, src metal.Mat, w metal.Vec, taps, dilation int, spans []metal.ConvSpan) {
	t := time.Now()
	s.Stream.Conv(dst, src, w, taps, dilation, spans)
	s.m.add("Conv", t, 0, 0)
}

func (s *metered) KeepTail(src metal.Mat, spans []metal.TailSpan) {
	t := time.Now()
	s.Stream.KeepTail(src, spans)
	s.m.add("KeepTail", t, 0, 0)
}

func (s *metered) Decay(beta, decay, b, a metal.Mat, rate, bias metal.Vec) {
	t := time.Now()
	s.Stream.Decay(beta, decay, b, a, rate, bias)
	s.m.add("Decay", t, 0, 0)
}

func (s *metered) Delta(o, qkv, beta, decay metal.Mat, shape metal.DeltaShape, spans []metal.DeltaSpan) {
	t := time.Now()
	s.Stream.Delta(o, qkv, beta, decay, shape, spans)
	s.m.add("Delta", t, 0, 0)
}

func (s *metered) GatedNorm(dst, o, z metal.Mat, w metal.Vec, eps float32, act metal.Activation) {
	t := time.Now()
	s.Stream.GatedNorm(dst, o, z, w, eps, act)
	s.m.add("GatedNorm", t, 0, 0)
}

func (s *metered) NormRope(dst, src metal.Mat, w metal.Vec, heads, dim, step int, eps float32, cs metal.Mat) {
	t := time.Now()
	s.Stream.NormRope(dst, src, w, heads, dim, step, eps, cs)
	s.m.add("NormRope", t, 0, 0)
}

func (s *metered) Pool(w metal.Vec, dim, ratio int, eps float32, spans []metal.PoolSpan) {
	t := time.Now()
	s.Stream.Pool(w, dim, ratio, eps, spans)
	s.m.add("Pool", t, 0, 0)
}

func (s *metered) Select(sel, qi metal.Mat, heads, dim, ratio, top int, spans []metal.SelectSpan) {
	t := time.Now()
	s.Stream.Select(sel, qi, heads, dim, ratio, top, spans)
	s.m.add("Select", t, 0, 0)
}

func (s *metered) Attend(dst, q, gate, sel metal.Mat, shape metal.AttendShape, spans []metal.AttendSpan) {
	t := time.Now()
	s.Stream.Attend(dst, q, gate, sel, shape, spans)
	s.m.add("Attend", t, 0, 0)
}

func (s *metered) Route(ids, w, logits metal.Mat, renorm bool) {
	t := time.Now()
	s.Stream.Route(ids, w, logits, renorm)
	s.m.add("Route", t, 0, 0)
}

func (s *metered) Experts(y, x, ids, w metal.Mat, gate, up, down metal.Weight) {
	t := time.Now()
	s.Stream.Experts(y, x, ids, w, gate, up, down)
	macs := int64(x.Rows) * int64(ids.Cols) * 3 * int64(gate.Rows()) * int64(gate.Cols())
	s.m.add("Experts", t, 0, macs)
}

func (s *metered) SiluMul(dst, g, u metal.Mat) {
	t := time.Now()
	s.Stream.SiluMul(dst, g, u)
	s.m.add("SiluMul", t, 0, 0)
}

func (s *metered) AddGated(y, g, v metal.Mat) {
	t := time.Now()
	s.Stream.AddGated(y, g, v)
	s.m.add("AddGated", t, 0, 0)
}

func (s *metered) AddBoth(x, a, b metal.Mat) {
	t := time.Now()
	s.Stream.AddBoth(x, a, b)
	s.m.add("AddBoth", t, 0, 0)
}

func (s *metered) Gate(dst, k, q, v metal.Mat) {
	t := time.Now()
	s.Stream.Gate(dst, k, q, v)
	s.m.add("Gate", t, 0, 0)
}

func (s *metered) CopyRows(dst, src metal.Mat) {
	t := time.Now()
	s.Stream.CopyRows(dst, src)
	s.m.add("CopyRows", t, 0, 0)
}

// fusedMetered is a metered stream that claims the fused blocks, each timed as one op.
type fusedMetered struct{ *metered }

func macsOf(rows int, all ...metal.Weight) (bytes, macs int64) {
	for _, w := range all {
		bytes += w.Bytes()
		macs += int64(rows) * int64(w.Rows()) * int64(w.Cols())
	}
	return bytes, macs
}

func (s *fusedMetered) Mix(u, c, x metal.Mat, m *metal.Mixer, sc metal.MixScratch) {
	t := time.Now()
	metal.Mix(s.Stream, u, c, x, m, sc)
	bytes, macs := macsOf(x.Rows, m.Down, m.Up)
	s.m.add("Mix", t, bytes, macs)
}

func (s *fusedMetered) RunDeltaNet(x, c, y, u metal.Mat, n *metal.DeltaNet, rows metal.DeltaNetRows, sc metal.DeltaNetScratch,
	conv []metal.ConvSpan, delta []metal.DeltaSpan) {
	t := time.Now()
	metal.RunDeltaNet(s.Stream, x, c, y, u, n, rows, sc, conv, delta)
	bytes, macs := macsOf(x.Rows, n.QKV, n.Z, n.A, n.B, n.Out)
	s.m.add("RunDeltaNet", t, bytes, macs)
}

func (s *fusedMetered) RunMoE(x, c, y, u metal.Mat, m *metal.MoE, sc metal.MoEScratch) {
	t := time.Now()
	metal.RunMoE(s.Stream, x, c, y, u, m, sc)
	bytes, macs := macsOf(x.Rows, m.Router, m.SharedGate, m.SharedUp, m.SharedDown, m.SharedExpertGate)
	_, routed := macsOf(x.Rows*m.TopK, m.Gate, m.Up, m.Down)
	s.m.add("RunMoE", t, bytes, macs+routed)
}

func (s *fusedMetered) Linears(x metal.Mat, to []metal.LinearTo) {
	t := time.Now()
	metal.Linears(s.Stream, x, to)
	var bytes, macs int64
	for _, l := range to {
		b, m := macsOf(x.Rows, l.W)
		bytes, macs = bytes+b, macs+m
	}
	s.m.add("Linears", t, bytes, macs)
}

func (s *fusedMetered) LinearInject(x, c, y, in metal.Mat, w metal.Weight) {
	t := time.Now()
	metal.LinearInject(s.Stream, x, c, y, in, w)
	bytes, macs := macsOf(x.Rows, w)
	s.m.add("LinearInject", t, bytes, macs)
}

// BenchmarkOps prints where the time of a pass goes, op by op, for the fastest of its passes (other work on the machine
// only ever adds time): microseconds, calls, and for products G multiply-adds/s.
func BenchmarkOps(b *testing.B) {
	for _, rows := range []int{1, 4, 8, 256} {
		for _, threads := range []int{1, 2} {
			for _, fused := range []bool{false, true} {
				b.Run(fmt.Sprintf("M=%d/threads=%d/fused=%v", rows, threads, fused), func(b *testing.B) { benchOps(b, rows, threads, fused) })
			}
		}
	}
}

func benchOps(b *testing.B, rows, threads int, fused bool) {
	dev := &meter{Device: modeltest.CPU(b, threads), fused: fused}
	m := modeltest.Load(b, modeltest.Nano(b), dev)
	r := modeltest.NewRunner(b, m, 256)
	r.Feed(random(m, 200), 256, model.LogitsNone)
	mode := model.LogitsAll
	if rows > 8 {
		mode = model.LogitsLast
	}
	seg := r.Segment(random(m, rows), true, mode)
	segs := []*model.Segment{seg}
	var all []time.Duration
	var best ops
	for b.Loop() {
		dev.ops, dev.on = ops{}, true
		start := time.Now()
		if err := r.Pass.Run(context.Background(), segs); err != nil {
			b.Fatal(err)
		}
		d := time.Since(start)
		dev.on = false
		if all = append(all, d); d == slices.Min(all) {
			best = dev.ops
		}
		r.Pass.Abort(seg)
	}
	slices.Sort(all)
	us := func(d time.Duration) float64 { return d.Seconds() * 1e6 }
	b.ReportMetric(us(all[0]), "us-best")
	b.ReportMetric(us(all[len(all)/10]), "us-p10")
	b.ReportMetric(us(all[len(all)/2]), "us-p50")
	var in time.Duration
	for _, o := range best {
		in += o.time
	}
	fmt.Printf("\nfastest pass of %d rows, %d threads, fused %v: %.0f us, in ops %.0f us\n", rows, threads, fused, us(all[0]), us(in))
	for _, k := range slices.SortedFunc(maps.Keys(best), func(x, y string) int { return int(best[y].time - best[x].time) }) {
		o := best[k]
		line := fmt.Sprintf("%-30s %8.1f us %5.1f %% %4d calls", k, us(o.time), 100*o.time.Seconds()/all[0].Seconds(), o.calls)
		if o.macs > 0 {
			line += fmt.Sprintf(" %7.1f GFLOP/s", 2*float64(o.macs)/o.time.Seconds()/1e9)
			if o.bytes > 0 {
				line += fmt.Sprintf(" %6.1f GB/s", float64(o.bytes)/o.time.Seconds()/1e9)
			}
		}
		fmt.Println(line)
	}
}
