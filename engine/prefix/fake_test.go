package prefix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/qsa"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// classed is a device that may have two classes of positions.
type classed struct {
	metal.Device
	separate bool
}

func (c *classed) Info() metal.Info {
	i := c.Device.Info()
	i.PromptRows = c.separate
	return i
}

// maker makes snapshots of sequences that no model ever ran: a tree looks at lengths and bytes only.
type maker struct {
	t     testing.TB
	dev   metal.Device
	st    metal.Stream
	shelf *state.Shelf
	shape *state.Shape
	tree  *Tree
}

const fakeStates = 4 * (2*3*4 + 2*5 + 2*6) // bytes of a fake snapshot's states
const fakeRow = 4 * (2*3 + 4)              // bytes per row; blocks come on top

func newMaker(t testing.TB, separate bool, limit int64) *maker {
	t.Helper()
	dev, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	index := qsa.Geometry{Heads: 1, Dim: 4, Ratio: 4, Budget: 8, Eps: 1e-6}
	m := &maker{t: t, dev: &classed{dev, separate}, shape: &state.Shape{
		Positions: 4096,
		Recurrent: []state.RecurrentShape{{Layer: 0, Delta: metal.DeltaShape{KeyHeads: 1, ValueHeads: 2, KeyDim: 3, ValueDim: 4},
			Tail: state.TailShape{Rows: 2, Cols: 5}}},
		Attention: []state.AttentionShape{{Layer: 1, Width: 3, Index: index}},
		Planes:    []state.TailShape{{Layer: 1, Rows: 2, Cols: 6}},
	}}
	m.st = m.dev.NewStream()
	m.shelf = state.NewShelf(m.dev, 3)
	m.tree = New(Options{Pack: "pack", Device: m.dev.Info(), Limit: limit})
	t.Cleanup(func() {
		m.tree.Close()
		m.shelf.Close()
		if got := dev.Used(); got != 0 {
			t.Errorf("at the end: got %d bytes in use, want 0", got)
		}
		if got := m.tree.Stats().Bytes; got != 0 {
			t.Errorf("at the end: got %d bytes booked, want 0", got)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// take makes a snapshot of n positions.
func (m *maker) take(n, prompt int, drafts bool, parent *state.Snapshot) (*state.Snapshot, error) {
	m.t.Helper()
	seq, err := state.New(m.shape, m.dev, state.Options{Positions: n})
	if err != nil {
		m.t.Fatal(err)
	}
	defer seq.Release()
	seq.Len = n
	seq.Attention[0].Bank.Blocks = n / 4 // of zeros, as the rows
	o := state.TakeOptions{Prompt: prompt, Parent: parent, Account: m.tree}
	if drafts {
		if seq.MTP, err = state.NewMTPCaches(m.dev, m.shape.Attention[0], m.shape.Positions); err != nil {
			m.t.Fatal(err)
		}
		if err := seq.MTP.Reserve(m.st, 0, n); err != nil {
			m.t.Fatal(err)
		}
		seq.MTP.Len = n - 1
		if o.Kept, err = m.shelf.Take(n-1, 1); err != nil {
			m.t.Fatal(err)
		}
		defer o.Kept.Free()
	}
	return state.Take(m.st, seq, o)
}

// used is the device memory that snapshots hold, and nobody else.
func (m *maker) used() int64 {
	m.shelf.Close()
	m.shelf = state.NewShelf(m.dev, 3)
	return m.dev.Used()
}

// put takes a snapshot of ids and inserts it.
func (m *maker) put(ids []int32, parent *state.Snapshot) *Handle {
	m.t.Helper()
	s, err := m.take(len(ids), len(ids), false, parent)
	if err != nil {
		m.t.Fatal(err)
	}
	h, err := m.tree.Insert(ids, s)
	if err != nil {
		m.t.Fatal(err)
	}
	return h
}

// ids makes token ids out of letters.
func ids(s string) []int32 {
	out := make([]int32, len(s))
	for i := range s {
		out[i] = int32(s[i])
	}
	return out
}
