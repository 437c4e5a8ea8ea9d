package ops_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/bench/ops"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/conform"
	"github.com/flashlane/flashlane/metal/cpu"
)

func open(t *testing.T) *cpu.Device {
	t.Helper()
	dev, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// The wrapped device gives the same bits, and every op is noted.
func TestSameBits(t *testing.T) {
	dev := ops.Wrap(open(t))
	dev.Parts = true
	dev.Meter.Phase("test")
	if d := cmp.Diff(conform.Digests(t, open(t)), conform.Digests(t, dev)); d != "" {
		t.Errorf("timing changes bits (-plain +timed):\n%s", d)
	}
	seen := map[string]bool{}
	for _, l := range dev.Meter.Lines() {
		seen[l.Op] = true
		if l.Calls < 1 || l.Time <= 0 || l.Bytes < 0 || l.Flops < 0 || math.IsNaN(l.Bytes+l.Flops) {
			t.Errorf("line %+v", l)
		}
	}
	stream := reflect.TypeFor[metal.Stream]()
	for i := range stream.NumMethod() {
		switch name := stream.Method(i).Name; name {
		case "Sync", "ReadInts", "Copy", "Zero": // not an op, or no case of conform leaves a digest of it
		default:
			if !seen[name] {
				t.Errorf("op %s was not noted", name)
			}
		}
	}
}

// With fused ops passed through it is a device like any other.
func TestConform(t *testing.T) {
	conform.Run(t, func(t *testing.T) metal.Device { return ops.Wrap(open(t)) })
}

// Every capability of package metal must be claimed, or a fused op would be missed: the wrapper would hide it.
func TestEveryCapabilityIsClaimed(t *testing.T) {
	claimed := map[string]bool{"FusedMix": true, "FusedDeltaNet": true, "FusedMoE": true, "FusedLinears": true, "FusedLinearInject": true}
	files, err := filepath.Glob("../../metal/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, is := s.Type.(*ast.InterfaceType); is && strings.HasPrefix(s.Name.Name, "Fused") && !claimed[s.Name.Name] {
				t.Errorf("%s: capability %s is not passed through: give bench/ops.Stream its method (see fused.go), and name it here", name, s.Name.Name)
			}
			return true
		})
	}
}

func weight(t *testing.T, dev metal.Device, name string, rows, cols, stack int) metal.Weight {
	t.Helper()
	spec := metal.WeightSpec{Name: name, Format: metal.FormatF32, Rows: rows, Cols: cols}
	for range stack {
		spec.Parts = append(spec.Parts, metal.Part{Data: make([]byte, 4*rows*cols)})
	}
	w, err := dev.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Free)
	return w
}

func floats(t *testing.T, dev metal.Device, rows, cols int) metal.Mat {
	t.Helper()
	b, err := dev.Alloc(metal.F32, rows*cols)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	return metal.NewMat(b, rows, cols)
}

func only(t *testing.T, dev *ops.Device, op string) ops.Line {
	t.Helper()
	for _, l := range dev.Meter.Lines() {
		if l.Op == op {
			return l
		}
	}
	t.Fatalf("no %s among %+v", op, dev.Meter.Lines())
	return ops.Line{}
}

func TestLinearWork(t *testing.T) {
	dev := ops.Wrap(open(t))
	st := dev.NewStream()
	x, y := floats(t, dev, 4, 32), floats(t, dev, 4, 48)
	a, b := weight(t, dev, "layers.3.mlp.gate.weight", 48, 32, 1), weight(t, dev, "layers.11.mlp.gate.weight", 48, 32, 1)
	st.Linear(y, x, a) // no phase: not noted
	dev.Meter.Phase("p")
	st.Linear(y, x, a)
	st.Linear(y, x, b)
	l := only(t, dev, "Linear")
	want := ops.Line{Phase: "p", Op: "Linear", What: "mlp.gate", Calls: 2, Rows: 8, Time: l.Time,
		Bytes: 2 * (48*32*4 + 4*4*(32+48)), Flops: 2 * 2 * 4 * 48 * 32}
	if d := cmp.Diff(want, l); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	dev.Meter.Reset()
	if n := len(dev.Meter.Lines()); n != 0 {
		t.Errorf("%d lines after a reset", n)
	}
}

// Only the experts that a row goes to are read.
func TestExpertsWork(t *testing.T) {
	dev := ops.Wrap(open(t))
	st := dev.NewStream()
	const experts, h, inner = 8, 32, 16
	gate, up, down := weight(t, dev, "layers.0.mlp.experts.gate", inner, h, experts), weight(t, dev, "up", inner, h, experts), weight(t, dev, "down", h, inner, experts)
	logits, w := floats(t, dev, 2, experts), floats(t, dev, 2, 3)
	ib, err := dev.Alloc(metal.I32, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer ib.Free()
	ids := metal.NewMat(ib, 2, 3)
	// Row 0 goes to 1, 2, 3 and row 1 to 2, 3, 4: four experts in all.
	st.Write(metal.Vec{Buf: logits.Buf, N: 16}, []float32{0, 9, 8, 7, 0, 0, 0, 0, 0, 0, 9, 8, 7, 0, 0, 0})
	st.Route(ids, w, logits, true)
	x, y := floats(t, dev, 2, h), floats(t, dev, 2, h)
	dev.Meter.Phase("p")
	st.Experts(y, x, ids, w, gate, up, down)
	l := only(t, dev, "Experts")
	each := float64(gate.Bytes()+up.Bytes()+down.Bytes()) / experts
	if want := 4*each + 4*(2*h+2*h+2*6); l.Bytes != want {
		t.Errorf("got %v bytes, want %v: four of eight experts", l.Bytes, want)
	}
	if want := float64(6 * (6*inner*h + 8*inner + 2*h)); l.Flops != want {
		t.Errorf("got %v operations, want %v", l.Flops, want)
	}
}

// A fused op is one line, and its parts are timed when they are wanted or the wrapped stream does not have it.
func TestMixByParts(t *testing.T) {
	_, has := open(t).NewStream().(metal.FusedMix)
	for _, parts := range []bool{false, true} {
		mixWork(t, parts, has && !parts)
	}
}

func mixWork(t *testing.T, parts, fused bool) {
	t.Helper()
	dev := ops.Wrap(open(t))
	dev.Parts = parts
	st := dev.NewStream()
	const streams, h, low, rows = 2, 16, 8, 3
	m := &metal.Mixer{Down: weight(t, dev, "down", low, streams*h, 1), Up: weight(t, dev, "up", streams*h, low, 1),
		Inject: weight(t, dev, "inject", streams, streams*h, 1), Streams: streams, Eps: 1e-6}
	m.Norm = floats(t, dev, 1, streams*h).Row(0)
	scratch := metal.MixScratch{Normed: floats(t, dev, rows, streams*h), Gate: floats(t, dev, rows, streams*h), Low: floats(t, dev, rows, low)}
	dev.Meter.Phase("p")
	metal.Mix(st, floats(t, dev, rows, h), floats(t, dev, rows, streams), floats(t, dev, rows, streams*h), m, scratch)
	calls := map[string]int{}
	flops := 0.0
	for _, l := range dev.Meter.Lines() {
		calls[l.Op] += l.Calls
		flops += l.Flops
	}
	if least := float64(2 * rows * (2*low + streams) * streams * h); flops < least {
		t.Errorf("got %v operations, want at least the %v of its matrices", flops, least)
	}
	if fused {
		if calls["Mix"] != 1 || len(calls) != 1 {
			t.Errorf("the device has a fused op, got %v", calls)
		}
	} else if calls["Linear"] != 3 || calls["Norm"] != 1 || calls["Gain"] != 1 || calls["Mix"] != 0 {
		t.Errorf("the device has no fused op, got %v", calls)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"language_model.model.layers.11.mlp.gate.weight": "mlp.gate", "model.language_model.layers.0.ple.key_proj": "ple.key_proj",
		"mtp.layers.0.self_attn.q_proj": "mtp.self_attn.q_proj", "mtp.fc_hidden": "mtp.fc_hidden", "language_model.lm_head": "lm_head", "layers.3.mlp.experts.7.gate": "mlp.experts.*.gate",
	} {
		dev := ops.Wrap(open(t))
		dev.Meter.Phase("p")
		dev.NewStream().Linear(floats(t, dev, 1, 16), floats(t, dev, 1, 16), weight(t, dev, name, 16, 16, 1))
		if got := only(t, dev, "Linear").What; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestRoofs(t *testing.T) {
	r := ops.MeasureRoofs(1, 1<<20)
	// Any machine that runs this does more than that, and none does a thousand times more.
	if r.Triad < 0.2 || r.Triad > 2000 || r.Read < 0.5 || r.Read > 20000 || r.Peak < 0.3 || r.Peak > 20000 || r.Kind == "" || r.ReadSize != 1<<20 {
		t.Errorf("got %+v", r)
	}
	r = ops.Roofs{Triad: 10, Read: 20, Peak: 100}
	if got := r.Seconds(20e9, 1); got != 1 {
		t.Errorf("20 GB at 20 GB/s: got %v s", got)
	}
	if got := r.Seconds(1, 200e9); got != 2 {
		t.Errorf("200 Gflop at 100 Gflop/s: got %v s", got)
	}
}
