package state

import (
	"errors"
	"maps"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/qsa"
)

// short is a device that runs out of memory after some allocations.
type short struct {
	metal.Device
	left int
}

func (s *short) Alloc(t metal.DType, n int) (metal.Buffer, error) {
	if s.left--; s.left < 0 {
		return nil, metal.ErrMemory
	}
	return s.Device.Alloc(t, n)
}

func device(t *testing.T) *cpu.Device {
	t.Helper()
	dev, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func shape() *Shape {
	index := qsa.Geometry{Heads: 2, Dim: 6, Ratio: 3, Budget: 12, Eps: 1e-6}
	tail := TailShape{Rows: 2, Cols: 40}
	return &Shape{
		Positions: 1000,
		Recurrent: []RecurrentShape{
			{Layer: 0, Delta: metal.DeltaShape{KeyHeads: 1, ValueHeads: 2, KeyDim: 10, ValueDim: 6}, Tail: tail},
			{Layer: 2, Delta: metal.DeltaShape{KeyHeads: 1, ValueHeads: 2, KeyDim: 10, ValueDim: 6}, Tail: tail},
		},
		Attention: []AttentionShape{{Layer: 1, Width: 8, Index: index}, {Layer: 3, Width: 8, Index: index}},
		Planes:    []TailShape{{Layer: 1, Rows: 6, Cols: 14}},
	}
}

func newSequence(t *testing.T, dev metal.Device, o Options) *Sequence {
	t.Helper()
	s, err := New(shape(), dev, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBytes compares the sequence's own account with the device's, from empty through growth to release.
func TestBytes(t *testing.T) {
	dev := device(t)
	s := newSequence(t, dev, Options{})
	check := func(what string) {
		t.Helper()
		if got, want := s.Bytes(), dev.Used(); got != want {
			t.Errorf("%s: got %d bytes, want %d", what, got, want)
		}
	}
	check("empty")
	for _, n := range []int{1, 300, 1000} {
		if err := s.Reserve(n); err != nil {
			t.Fatal(err)
		}
		check("grown")
	}
	m, err := NewMTPCaches(dev, shape().Attention[0], 1000)
	if err != nil {
		t.Fatal(err)
	}
	s.MTP = m
	if err := m.Reserve(dev.NewStream(), 0, 77); err != nil {
		t.Fatal(err)
	}
	check("with MTP caches")
	s.Release()
	if got := dev.Used(); got != 0 {
		t.Errorf("released: got %d bytes in use, want 0", got)
	}
}

func TestReserveIsAmortisedAndBounded(t *testing.T) {
	s := newSequence(t, device(t), Options{})
	defer s.Release()
	var caps []int
	for n := 1; n <= 1000; n++ {
		if err := s.Reserve(n); err != nil {
			t.Fatal(err)
		}
		if s.Positions() < n {
			t.Fatalf("got room for %d positions, want %d", s.Positions(), n)
		}
		if len(caps) == 0 || caps[len(caps)-1] != s.Positions() {
			caps = append(caps, s.Positions())
		}
	}
	if len(caps) != 3 || caps[2] != 1000 {
		t.Errorf("got growth %v, want 256, 512 and the context of 1000", caps)
	}
	if err := s.Reserve(1001); err == nil {
		t.Error("past the context: got no error")
	}
}

// TestReserveKeepsRows fills live rows and looks for them after growth.
func TestReserveKeepsRows(t *testing.T) {
	dev := device(t)
	s := newSequence(t, dev, Options{Positions: 20})
	defer s.Release()
	st := dev.NewStream()
	for i, a := range s.Attention {
		for _, b := range []metal.Buffer{a.K, a.V, a.Raw} {
			f := make([]float32, b.Len())
			for j := range f {
				f[j] = float32(i*100000 + j)
			}
			st.Write(metal.NewVec(b), f)
		}
	}
	s.Len = 20
	before, err := s.Digest(st)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reserve(900); err != nil {
		t.Fatal(err)
	}
	after, err := s.Digest(st)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before, after) {
		t.Error("live rows changed while the caches grew")
	}
}

// TestMemoryRunsOut fails every single allocation of a new sequence and of its growth in turn.
func TestMemoryRunsOut(t *testing.T) {
	dev := device(t)
	for n := 0; ; n++ {
		s, err := New(shape(), &short{dev, n}, Options{Positions: 30})
		if err == nil {
			s.Release()
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		if got := dev.Used(); got != 0 {
			t.Fatalf("allocation %d: got %d bytes in use after the failure, want 0", n, got)
		}
	}
	lack := &short{dev, 1 << 30}
	s := newSequence(t, lack, Options{Positions: 30})
	defer s.Release()
	st := dev.NewStream()
	s.Len = 30
	before, err := s.Digest(st)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		lack.left = n
		err := s.Reserve(900)
		if err == nil {
			if n == 0 {
				t.Fatal("growth allocated nothing")
			}
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		if s.Positions() >= 900 {
			t.Fatalf("allocation %d: got room for %d positions after a failure", n, s.Positions())
		}
		if got, want := s.Bytes(), dev.Used(); got != want {
			t.Fatalf("allocation %d: got %d bytes in the account, want %d", n, got, want)
		}
		after, err := s.Digest(st)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(before, after) {
			t.Fatalf("allocation %d: state changed", n)
		}
	}
}

func TestReferences(t *testing.T) {
	dev := device(t)
	s := newSequence(t, dev, Options{})
	s.Retain()
	s.Release()
	if dev.Used() == 0 {
		t.Fatal("freed while a reference was left")
	}
	s.Release()
	if got := dev.Used(); got != 0 {
		t.Errorf("got %d bytes in use, want 0", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a third release went unseen")
		}
	}()
	s.Release()
}

func TestShelf(t *testing.T) {
	dev := device(t)
	s := NewShelf(dev, 10)
	small, err := s.Take(5, 3)
	if err != nil {
		t.Fatal(err)
	}
	if small.Pos != 5 || small.Rows != 3 || small.X.Rows != 3 || small.X.Cols != 10 {
		t.Errorf("got %+v, want 3 rows of 10 from position 5", small)
	}
	used := dev.Used()
	small.Free()
	small.Free()
	again, err := s.Take(9, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := dev.Used(); got != used {
		t.Errorf("second take: got %d bytes in use, want the %d of the first", got, used)
	}
	big, err := s.Take(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	again.Free()
	big.Free()
	if got := dev.Used(); got != 0 {
		t.Errorf("closed: got %d bytes in use, want 0", got)
	}
	var none *Kept
	none.Free()
}
