package qsa

import "testing"

// Scratch is used for the commit of its own pass only, once. In each case the rows it was pooled from are replaced before
// the bank is settled, as rows of rejected drafts are.
func TestScratchIsNotStale(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 2, Eps: 1e-6}
	for name, between := range map[string]func(l *layer, b *Bank, p *Pooler) int{
		"settled with fewer rows": func(l *layer, b *Bank, p *Pooler) int {
			if _, _, err := b.Settle(p, l.ix, l.rawKeys(), 21); err != nil {
				t.Fatal(err)
			}
			return 24
		},
		"cut back": func(l *layer, b *Bank, p *Pooler) int {
			b.Truncate(10)
			return 24
		},
		"longer than the pass": func(l *layer, b *Bank, p *Pooler) int { return 30 },
		"copied over": func(l *layer, b *Bank, p *Pooler) int {
			c := l.bank(t)
			if err := b.CopyFrom(l.st, c, 0); err != nil {
				t.Fatal(err)
			}
			return 24
		},
	} {
		l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 64, 1)
		l.write(0, 64)
		b, p := l.bank(t), NewPooler(dev, l.st)
		if _, _, err := b.Settle(p, l.ix, l.rawKeys(), 20); err != nil {
			t.Fatal(err)
		}
		if err := b.PoolScratch(p, l.ix, l.rawKeys(), 20, 4); err != nil {
			t.Fatal(err)
		}
		length := between(l, b, p)
		l.write(20, 44)
		kept, _, err := b.Settle(p, l.ix, l.rawKeys(), length)
		if err != nil || kept != 0 {
			t.Errorf("%s: got %d kept (%v), want 0", name, kept, err)
		}
		l.compare(t, b, length)
	}
}

// Settling to fewer positions cuts the bank and writes nothing.
func TestSettleCuts(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 2, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 64, 1)
	l.write(0, 64)
	b, p := l.bank(t), NewPooler(dev, l.st)
	if _, _, err := b.Settle(p, l.ix, l.rawKeys(), 40); err != nil {
		t.Fatal(err)
	}
	kept, pooled, err := b.Settle(p, l.ix, l.rawKeys(), 13)
	if kept != 0 || pooled != 0 || err != nil || b.Blocks != 6 {
		t.Errorf("got %d kept, %d pooled, %d blocks, %v, want 0, 0 and 6 blocks", kept, pooled, b.Blocks, err)
	}
	l.compare(t, b, 13)
}

// A dense pass pools nothing.
func TestPoolScratchDense(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 20, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 64, 1)
	b, p := l.bank(t), NewPooler(dev, l.st)
	for _, tc := range []struct{ n, pooled int }{{21, 0}, {22, 11}} {
		if err := b.PoolScratch(p, l.ix, l.rawKeys(), 0, tc.n); err != nil {
			t.Fatal(err)
		}
		if b.fresh != tc.pooled {
			t.Errorf("%d rows: got %d blocks in scratch, want %d", tc.n, b.fresh, tc.pooled)
		}
	}
}
