package cpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

func TestNewOptions(t *testing.T) {
	for _, o := range []Options{{Threads: -1}, {Memory: -1}, {Kernels: "sse9"}, {Precision: Fast + 1}} {
		d, err := New(o)
		if err == nil {
			d.Close()
			t.Errorf("%+v: got no error", o)
		}
	}
	if _, err := New(Options{Kernels: "sse9"}); !errors.Is(err, ErrKernels) || !strings.Contains(err.Error(), `"go"`) {
		t.Errorf("got %v, want ErrKernels and what there is", err)
	}
	for p, kind := range map[Precision]string{Exact: "cpu/f32", Fast: "cpu/i8"} {
		for _, ks := range kernelSets() {
			d := testDevice(t, Options{Kernels: ks.name, Precision: p})
			got := d.Info()
			if got.Kernels != ks.name || got.Kind != kind || got.Precision != p.String() || got.Threads < 1 || got.Name == "" {
				t.Errorf("got %+v, want kernels %s of %s", got, ks.name, kind)
			}
		}
		if got, err := ParsePrecision(p.String()); got != p || err != nil {
			t.Errorf("%s: got %s, %v", p, got, err)
		}
	}
	for _, name := range []string{"", "Fast", "int8"} {
		if _, err := ParsePrecision(name); err == nil || !strings.Contains(err.Error(), `"fast"`) {
			t.Errorf("%q: got %v, want an error that says what there is", name, err)
		}
	}
	if got, want := testDevice(t, Options{}).Info().Kernels, kernelSets()[0].name; got != want {
		t.Errorf("default kernels: got %s, want %s", got, want)
	}
}

func TestDeviceIsADevice(t *testing.T) {
	var d metal.Device = testDevice(t, Options{Threads: 1})
	if _, err := d.Alloc(metal.F32, -1); err == nil {
		t.Error("alloc of -1 elements: got no error")
	}
	b, err := d.Alloc(metal.I32, 3)
	if err != nil {
		t.Fatal(err)
	}
	if b.Len() != 3 || b.DType() != metal.I32 {
		t.Errorf("got %d elements of type %d, want 3 of I32", b.Len(), b.DType())
	}
}
