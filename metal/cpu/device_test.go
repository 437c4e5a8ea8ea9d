package cpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

func TestNewOptions(t *testing.T) {
	for _, o := range []Options{{Threads: -1}, {Memory: -1}, {Kernels: "sse9"}} {
		d, err := New(o)
		if err == nil {
			d.Close()
			t.Errorf("%+v: got no error", o)
		}
	}
	if _, err := New(Options{Kernels: "sse9"}); !errors.Is(err, ErrKernels) || !strings.Contains(err.Error(), `"go"`) {
		t.Errorf("got %v, want ErrKernels and what there is", err)
	}
	for _, ks := range kernelSets() {
		d := testDevice(t, Options{Kernels: ks.name})
		if got := d.Info(); got.Kernels != ks.name || got.Kind != "cpu/f32" || got.Threads < 1 || got.Name == "" {
			t.Errorf("got %+v, want kernels %s of cpu/f32", got, ks.name)
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
