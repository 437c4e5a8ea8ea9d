package cpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

func TestLoadRefuses(t *testing.T) {
	d := testDevice(t, Options{Threads: 1})
	for _, c := range []struct {
		name string
		f    metal.Format
		edit func(s *metal.WeightSpec)
		want string
	}{
		{"no rows", metal.FormatF32, func(s *metal.WeightSpec) { s.Rows = 0 }, "shape: got [0 64]"},
		{"negative columns", metal.FormatF32, func(s *metal.WeightSpec) { s.Cols = -1 }, "shape: got [20 -1]"},
		{"huge", metal.FormatF32, func(s *metal.WeightSpec) { s.Rows = 1 << 40 }, "shape: got"},
		{"no parts", metal.FormatF32, func(s *metal.WeightSpec) { s.Parts = nil }, "parts: got 0"},
		{"format", metal.FormatF32, func(s *metal.WeightSpec) { s.Format = 99 }, "format: got 99"},
		{"short data", metal.FormatF32, func(s *metal.WeightSpec) { s.Parts[0].Data = s.Parts[0].Data[4:] }, "part 0: data: got 5116 bytes, want 5120"},
		{"second part", metal.FormatBF16, func(s *metal.WeightSpec) { s.Parts[1].Data = nil }, "part 1: data: got 0 bytes, want 2560"},
		{"scales on a plain weight", metal.FormatBF16, func(s *metal.WeightSpec) { s.Parts[0].Scales = []byte{1, 2} }, "scales: got 2 bytes, want 0"},
		{"group zero", metal.FormatQ8, func(s *metal.WeightSpec) { s.Group = 0 }, "group: got 0"},
		{"group that does not divide", metal.FormatQ8, func(s *metal.WeightSpec) { s.Group = 24 }, "group: got 24"},
		{"odd group", metal.FormatQ8, func(s *metal.WeightSpec) { s.Group = 2 }, "group: got 2"},
		{"scales", metal.FormatQ8, func(s *metal.WeightSpec) { s.Parts[0].Scales = nil }, "part 0: scales: got 0 bytes, want 80"},
		{"biases", metal.FormatQ4, func(s *metal.WeightSpec) { s.Parts[1].Biases = make([]byte, 82) }, "part 1: biases: got 82 bytes, want 80"},
		{"half a word", metal.FormatQ4, func(s *metal.WeightSpec) { s.Cols, s.Group = 12, 4 }, "columns: got 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := randomSpec(rand.New(rand.NewPCG(1, 2)), c.f, 20, 64, 32, 2)
			spec.Name = "layers.3.mlp.gate"
			c.edit(&spec)
			w, err := d.Load(spec)
			if w != nil || !errors.Is(err, ErrWeight) {
				t.Fatalf("got %v, %v, want ErrWeight", w, err)
			}
			for _, want := range []string{c.want, "layers.3.mlp.gate"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
			if d.Used() != 0 {
				t.Errorf("got %d bytes in use, want 0", d.Used())
			}
		})
	}
}

func TestUsedCounts(t *testing.T) {
	d := testDevice(t, Options{Threads: 2})
	var held int64
	var ws []metal.Weight
	for _, f := range allFormats {
		w, err := d.Load(randomSpec(rand.New(rand.NewPCG(1, 2)), f, 33, 64, 32, 3))
		if err != nil {
			t.Fatal(err)
		}
		if w.Rows() != 33 || w.Cols() != 64 || w.Stack() != 3 || w.Format() != f || w.Name() != "w" {
			t.Errorf("%s: got [%d %d] x %d %s %q", f, w.Rows(), w.Cols(), w.Stack(), w.Format(), w.Name())
		}
		held += w.Bytes()
		ws = append(ws, w)
	}
	// Three tiles of 16 for 33 rows: the padding is held too.
	if got, want := ws[3].Bytes(), int64(3*48*(64+2*4)); got != want {
		t.Errorf("q8: got %d bytes, want %d", got, want)
	}
	b, err := d.Alloc(metal.F32, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Used(), held+400; got != want {
		t.Errorf("got %d bytes in use, want %d", got, want)
	}
	for range 2 { // freeing twice counts once
		b.Free()
		for _, w := range ws {
			w.Free()
		}
	}
	if d.Used() != 0 {
		t.Errorf("after Free: got %d bytes in use, want 0", d.Used())
	}
}

func TestMemoryLimit(t *testing.T) {
	d := testDevice(t, Options{Threads: 1, Memory: 10_000})
	b, err := d.Alloc(metal.F32, 2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{501, 1 << 40, 1 << 60, math.MaxInt64} {
		if _, err := d.Alloc(metal.F32, n); !errors.Is(err, metal.ErrMemory) {
			t.Errorf("%d elements: got %v, want ErrMemory", n, err)
		}
	}
	if _, err := d.Load(randomSpec(rand.New(rand.NewPCG(1, 2)), metal.FormatF32, 16, 64, 0, 1)); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("load: got %v, want ErrMemory", err)
	}
	if got := d.Used(); got != 8000 {
		t.Errorf("got %d bytes in use, want 8000", got)
	}
	b.Free()
	if _, err := d.Alloc(metal.I32, 2500); err != nil {
		t.Errorf("after Free: %v", err)
	}
}

// TestHalf checks every binary16 against its definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		exp, frac := h>>10&31, float64(h&0x3ff)
		want := math.Ldexp(frac, -24)
		switch {
		case exp == 31 && frac != 0:
			want = math.NaN()
		case exp == 31:
			want = math.Inf(1)
		case exp > 0:
			want = math.Ldexp(1024+frac, exp-25)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := halfToFloat(uint16(h))
		if want != want {
			if got == got {
				t.Fatalf("half %04x: got %g, want NaN", h, got)
			}
			continue
		}
		if !sameBits(got, float32(want)) {
			t.Fatalf("half %04x: got %g, want %g", h, got, want)
		}
	}
}
