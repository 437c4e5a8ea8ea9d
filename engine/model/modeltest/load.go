package modeltest

import (
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
)

// nanoDir is the embedded pack's folder, seen from a package two folders deep, where tests run.
const nanoDir = "../../nano/pack"

// Nano opens the pack that the binary embeds; it is closed when the test ends.
func Nano(t testing.TB) *pack.Pack {
	t.Helper()
	src, err := pack.Dir(nanoDir)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t, src)
}

// Open opens a pack; it is closed when the test ends.
func Open(t testing.TB, src pack.Source) *pack.Pack {
	t.Helper()
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// CPU opens the CPU device with so many threads; when the test ends all its memory must have been freed.
func CPU(t testing.TB, threads int) metal.Device {
	t.Helper()
	return CPUWith(t, cpu.Options{Threads: threads})
}

// CPUWith is CPU with all its options.
func CPUWith(t testing.TB, o cpu.Options) metal.Device {
	t.Helper()
	dev, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := dev.Used(); n != 0 {
			t.Errorf("device memory at the end: got %d bytes in use, want 0", n)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// Load loads the trunk of p; it is freed when the test ends.
func Load(t testing.TB, p *pack.Pack, dev metal.Device) *model.Model {
	t.Helper()
	m, err := model.Load(p, dev, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}
