package qsa

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
)

func openCPU(t testing.TB) metal.Device {
	t.Helper()
	dev, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// fataler is what both testing.TB and rapid.T have.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// layer is one attention layer's index part on a device, with its host values.
type layer struct {
	dev  metal.Device
	st   metal.Stream
	ix   *Indexer
	norm []float32
	raw  metal.Buffer // [positions, Dim]
	host []float32    // what raw holds
	rng  *rand.Rand
}

func newLayer(t fataler, dev metal.Device, g Geometry, freq *InvFreq, positions int, seed uint64) *layer {
	t.Helper()
	l := &layer{dev: dev, st: dev.NewStream(), rng: rand.New(rand.NewPCG(seed, 5))}
	norm, err := dev.Alloc(metal.F32, g.Dim)
	if err != nil {
		t.Fatal(err)
	}
	for range g.Dim {
		l.norm = append(l.norm, float32(1+0.2*l.rng.NormFloat64()))
	}
	l.st.Write(metal.NewVec(norm), l.norm)
	if l.ix, err = Bind(3, g, metal.NewVec(norm), freq); err != nil {
		t.Fatal(err)
	}
	if l.raw, err = dev.Alloc(metal.F32, positions*g.Dim); err != nil {
		t.Fatal(err)
	}
	l.host = make([]float32, positions*g.Dim)
	return l
}

func (l *layer) bank(t fataler) *Bank {
	t.Helper()
	b, err := NewBank(l.dev, l.ix.Geometry)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write gives rows pos..pos+n-1 new raw keys.
func (l *layer) write(pos, n int) {
	d := l.ix.Dim
	part := l.host[pos*d : (pos+n)*d]
	for i := range part {
		part[i] = float32(l.rng.NormFloat64())
	}
	l.st.Write(metal.Vec{Buf: l.raw, Off: pos * d, N: n * d}, part)
}

func (l *layer) rawKeys() metal.Vec { return metal.NewVec(l.raw) }

func (l *layer) read(t fataler, v metal.Vec) []float32 {
	t.Helper()
	out := make([]float32, v.N)
	if err := l.st.Read(out, v); err != nil {
		t.Fatal(err)
	}
	return out
}

// keys are the committed blocks of a bank.
func (l *layer) keys(t fataler, b *Bank) []float32 {
	t.Helper()
	return l.read(t, metal.Vec{Buf: b.Keys.Buf, N: b.Blocks * l.ix.Dim})
}

func bits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// pooled is the first n blocks by the reference.
func (l *layer) pooled(n int) []float32 {
	g, out := l.ix.Geometry, make([]float32, n*l.ix.Dim)
	for b := range n {
		PoolRef(out[b*g.Dim:(b+1)*g.Dim], l.host[b*g.Ratio*g.Dim:(b+1)*g.Ratio*g.Dim], l.norm, g, l.ix.Freq, b)
	}
	return out
}

// A bank pooled from raw keys holds what the reference says.
func TestSettlePools(t *testing.T) {
	dev := openCPU(t)
	for _, g := range []Geometry{{2, 16, 4, 16, 1e-6}, {1, 10, 3, 9, 1e-5}, {1, 2, 1, 1, 1e-6}} {
		l := newLayer(t, dev, g, newFreq(t, 2*(g.Dim/4)+2*(1-min(1, g.Dim/4)), 1e4, nil), 200, 1)
		l.write(0, 200)
		b, p := l.bank(t), NewPooler(dev, l.st)
		kept, pooled, err := b.Settle(p, l.ix, l.rawKeys(), 199)
		if n := 199 / g.Ratio; err != nil || kept != 0 || pooled != n || b.Blocks != n {
			t.Fatalf("%+v: got kept %d, pooled %d, %d blocks, %v, want %d pooled", g, kept, pooled, b.Blocks, err, n)
		}
		got, want := l.keys(t, b), l.pooled(b.Blocks)
		for i := range got {
			// The device's norm sums in another order: a few roundings on values of a few units.
			if d := math.Abs(float64(got[i] - want[i])); !(d <= 2e-6*(1+math.Abs(float64(want[i])))) {
				t.Fatalf("%+v: block %d, value %d: got %v, want %v", g, i/g.Dim, i%g.Dim, got[i], want[i])
			}
		}
	}
}

// Rounds of any width at any offset, any number of rows kept, rounds whose settling is lost while attention is dense, cuts
// back to any length: after each the bank has the bits of one that was pooled from the committed raw keys alone, never
// having drafted, and every choice of blocks is the one over those keys.
func TestBankNeverDrafted(t *testing.T) {
	dev := openCPU(t)
	rapid.Check(t, func(rt *rapid.T) {
		g := Geometry{Heads: rapid.IntRange(1, 2).Draw(rt, "heads"), Dim: 6, Ratio: rapid.IntRange(1, 5).Draw(rt, "ratio"), Eps: 1e-6}
		g.Budget = g.Ratio*rapid.IntRange(1, 4).Draw(rt, "top") + rapid.IntRange(0, g.Ratio-1).Draw(rt, "rest")
		const positions = 160
		l := newLayer(rt, dev, g, newFreq(t, 4, 1e4, nil), positions, rapid.Uint64().Draw(rt, "seed"))
		defer func() { l.ix.Norm.Buf.Free(); l.raw.Free() }()
		verifier, indexer := NewPooler(dev, l.st), NewPooler(dev, dev.NewStream())
		defer verifier.Free()
		defer indexer.Free()
		b := l.bank(rt)
		defer b.Free()
		length, settled := 0, true
		for range rapid.IntRange(1, 25).Draw(rt, "rounds") {
			m := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 40)).Draw(rt, "rows")
			if m = min(m, positions-length); m == 0 {
				break
			}
			l.write(length, m)
			if !g.Dense(length+m) && !settled {
				// The gate failed: the pass settles inline.
				if _, _, err := b.Settle(verifier, l.ix, l.rawKeys(), length); err != nil {
					rt.Fatal(err)
				}
				settled = true
			}
			if err := b.PoolScratch(verifier, l.ix, l.rawKeys(), length, m); err != nil {
				rt.Fatal(err)
			}
			l.choose(rt, b, length, m)

			keep := rapid.IntRange(1, m).Draw(rt, "keep")
			before := b.Blocks
			length += keep
			if !settled && rapid.Bool().Draw(rt, "lost") || settled && g.Dense(length) && rapid.Bool().Draw(rt, "lost") {
				settled = false
			} else {
				was := settled
				kept, pooled, err := b.Settle(indexer, l.ix, l.rawKeys(), length)
				if err != nil {
					rt.Fatal(err)
				}
				if kept+pooled != b.Blocks-before || was && kept+pooled > g.MaxNew(m) {
					rt.Fatalf("settle: got %d kept, %d pooled for blocks %d to %d, at most %d of %d rows", kept, pooled, before, b.Blocks, g.MaxNew(m), m)
				}
				settled = true
				l.compare(rt, b, length)
				if kept, pooled, err := b.Settle(indexer, l.ix, l.rawKeys(), length); kept+pooled != 0 || err != nil {
					rt.Fatalf("settled again: got %d kept, %d pooled, %v", kept, pooled, err)
				}
			}
			if rapid.IntRange(0, 7).Draw(rt, "cut") == 0 {
				length = rapid.IntRange(0, length).Draw(rt, "cut to")
				b.Truncate(g.Complete(length))
				settled = b.Blocks == g.Complete(length)
			}
		}
		if _, _, err := b.Settle(indexer, l.ix, l.rawKeys(), length); err != nil {
			rt.Fatal(err)
		}
		l.compare(rt, b, length)
	})
}

// compare holds a bank against one that never saw a draft.
func (l *layer) compare(t fataler, b *Bank, length int) {
	t.Helper()
	never, p := l.bank(t), NewPooler(l.dev, l.st)
	defer never.Free()
	defer p.Free()
	if _, _, err := never.Settle(p, l.ix, l.rawKeys(), length); err != nil {
		t.Fatal(err)
	}
	if b.Blocks != l.ix.Complete(length) || !bits(l.keys(t, b), l.keys(t, never)) {
		t.Fatalf("%d positions: bank of %d blocks differs from one that never drafted (%d)", length, b.Blocks, never.Blocks)
	}
}

// choose runs the device's Select over bank and scratch and holds it against SelectRef over keys pooled afresh.
func (l *layer) choose(t fataler, b *Bank, pos, n int) {
	t.Helper()
	g := l.ix.Geometry
	q := make([]float32, n*g.Heads*g.Dim)
	for i := range q {
		q[i] = float32(l.rng.NormFloat64())
	}
	qi, err := l.dev.Alloc(metal.F32, len(q))
	if err != nil {
		t.Fatal(err)
	}
	defer qi.Free()
	sel, err := l.dev.Alloc(metal.I32, n*g.Top())
	if err != nil {
		t.Fatal(err)
	}
	defer sel.Free()
	l.st.Write(metal.NewVec(qi), q)
	l.st.Select(metal.NewMat(sel, n, g.Top()), metal.NewMat(qi, n, g.Heads*g.Dim), g.Heads, g.Dim, g.Ratio, g.Top(),
		[]metal.SelectSpan{b.SelectSpan(metal.Span{N: n, Pos: pos})})
	got := make([]int32, n*g.Top())
	if err := l.st.ReadInts(got, metal.NewVec(sel)); err != nil {
		t.Fatal(err)
	}
	keys := l.pooled(g.Complete(pos + n))
	for r := range n {
		scores := make([]float32, g.Complete(pos+r+1))
		ScoreRef(scores, q[r*g.Heads*g.Dim:(r+1)*g.Heads*g.Dim], keys, g)
		want := SelectRef(scores, g.Top())
		if !slices.Equal(got[r*g.Top():][:len(want)], want) && !closeCall(scores, want, got[r*g.Top():][:len(want)]) {
			t.Fatalf("row at %d: got blocks %v, want %v (scores %v)", pos+r, got[r*g.Top():][:len(want)], want, scores)
		}
	}
}

// closeCall tells whether two choices differ only by blocks whose scores are equal but for rounding.
func closeCall(scores []float32, want, got []int32) bool {
	least := float32(math.Inf(1))
	for _, b := range want {
		least = min(least, scores[b])
	}
	for _, b := range got {
		if !slices.Contains(want, b) && math.Abs(float64(scores[b]-least)) > 1e-5*(1+float64(least)) {
			return false
		}
	}
	return true
}

// A kept scratch row is copied, not pooled again, and has the bits of a pooled one; at every offset and every count of
// kept rows, for widths to 8.
func TestSettleRowsel(t *testing.T) {
	dev := openCPU(t)
	for ratio := 1; ratio <= 5; ratio++ {
		g := Geometry{Heads: 1, Dim: 8, Ratio: ratio, Budget: ratio, Eps: 1e-6}
		l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 64, uint64(ratio))
		p := NewPooler(dev, l.st)
		for offset := 2 * ratio; offset < 4*ratio; offset++ {
			for m := 1; m <= 8; m++ {
				for k := 1; k <= m; k++ {
					l.write(0, 64)
					b := l.bank(t)
					if _, _, err := b.Settle(p, l.ix, l.rawKeys(), offset); err != nil {
						t.Fatal(err)
					}
					if err := b.PoolScratch(p, l.ix, l.rawKeys(), offset, m); err != nil {
						t.Fatal(err)
					}
					kept, pooled, err := b.Settle(p, l.ix, l.rawKeys(), offset+k)
					if want := g.Complete(offset+k) - g.Complete(offset); err != nil || kept != want || pooled != 0 {
						t.Fatalf("ratio %d, offset %d, %d of %d rows: got %d kept, %d pooled, %v, want %d kept", ratio, offset, k, m, kept, pooled, err, want)
					}
					l.compare(t, b, offset+k)
					b.Free()
				}
			}
		}
	}
}

// Several sequences in one call: the same banks as one by one, and angles shared by layers of one pass stay right.
func TestPoolerJobs(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 3, Budget: 6, Eps: 1e-6}
	freq := newFreq(t, 6, 1e4, nil)
	var layers []*layer
	var banks []*Bank
	for i := range 3 {
		l := newLayer(t, dev, g, freq, 100, uint64(i))
		l.write(0, 100)
		layers, banks = append(layers, l), append(banks, l.bank(t))
	}
	st := dev.NewStream()
	p := NewPooler(dev, st)
	jobs := func(n ...int) []Job {
		out := make([]Job, 3)
		for i := range out {
			out[i] = Job{Bank: banks[i], Raw: layers[i].rawKeys(), Len: n[i]}
		}
		return out
	}
	// All three share layer 0's norm here: a job list is for one layer.
	for _, l := range layers {
		l.ix = layers[0].ix
	}
	if _, _, err := p.Settle(layers[0].ix, jobs(9, 31, 2)...); err != nil {
		t.Fatal(err)
	}
	js := jobs(9, 31, 2)
	for i := range js {
		js[i].N = 7
	}
	for range 2 { // the second time the angles are on the device already
		if err := p.PoolScratch(layers[0].ix, js...); err != nil {
			t.Fatal(err)
		}
	}
	kept, pooled, err := p.Settle(layers[0].ix, jobs(13, 38, 9)...)
	// 9..12 completes block 3, 31..37 blocks 10 and 11, 2..8 (a whole pass within 3 blocks, one past the top) blocks 0 to 2.
	if err != nil || kept != 1+2+1 || pooled != 2 {
		t.Errorf("got %d kept, %d pooled, %v, want 4 and 2", kept, pooled, err)
	}
	for i, n := range []int{13, 38, 9} {
		layers[i].compare(t, banks[i], n)
	}
}

func TestSelectSpanBreach(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 4, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 100, 1)
	l.write(0, 100)
	b, p := l.bank(t), NewPooler(dev, l.st)
	if got := b.SelectSpan(metal.Span{N: 5, Pos: 0}); got.Bank.Valid() || got.N != 5 {
		t.Errorf("dense span: got %+v, want one without a bank", got)
	}
	panics(t, "bank not settled", func() { b.SelectSpan(metal.Span{N: 4, Pos: 20}) })
	if _, _, err := b.Settle(p, l.ix, l.rawKeys(), 20); err != nil {
		t.Fatal(err)
	}
	panics(t, "scratch not pooled", func() { b.SelectSpan(metal.Span{N: 4, Pos: 20}) })
	if err := b.PoolScratch(p, l.ix, l.rawKeys(), 20, 4); err != nil {
		t.Fatal(err)
	}
	if got := b.SelectSpan(metal.Span{N: 4, Pos: 20}); got.Blocks != 10 || got.Scratch.N < 2*g.Dim {
		t.Errorf("got %+v, want 10 blocks and 2 in scratch", got)
	}
	panics(t, "raw keys short", func() { _, _, _ = b.Settle(p, l.ix, metal.Vec{Buf: l.raw, N: 21 * g.Dim}, 22) })
	other := *l.ix
	other.Ratio = 4
	panics(t, "another geometry", func() { _, _, _ = b.Settle(p, &other, l.rawKeys(), 22) })
}

func panics(t *testing.T, what string, fn func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: got no panic", what)
		}
	}()
	fn()
}

// tight is a device with room for so many more allocations.
type tight struct {
	metal.Device
	left int
}

func (d *tight) Alloc(t metal.DType, n int) (metal.Buffer, error) {
	if d.left--; d.left < 0 {
		return nil, metal.ErrMemory
	}
	return d.Device.Alloc(t, n)
}

// Where memory ends, at whichever allocation, nothing changes and nothing leaks; with memory back the call goes through.
func TestBankMemory(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 4, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 200, 1)
	l.write(0, 200)
	start := dev.Used()
	for n := range 2 {
		if _, err := NewBank(&tight{dev, n}, g); !errors.Is(err, metal.ErrMemory) || dev.Used() != start {
			t.Errorf("new bank with room for %d: got %v, %d bytes leaked", n, err, dev.Used()-start)
		}
	}
	td := &tight{dev, 2}
	b, err := NewBank(td, g)
	if err != nil {
		t.Fatal(err)
	}
	if got := dev.Used() - start; got != b.Bytes() {
		t.Errorf("bytes: device holds %d, bank says %d", got, b.Bytes())
	}
	p := NewPooler(td, l.st)
	step := func(what string, blocks int, fn func() error) {
		t.Helper()
		keys, used := l.keys(t, b), dev.Used()
		for failed := 0; ; failed++ {
			td.left = failed
			err := fn()
			if err == nil {
				if failed == 0 {
					t.Errorf("%s: took no memory", what)
				}
				break
			}
			if !errors.Is(err, metal.ErrMemory) || b.Blocks*g.Dim != len(keys) || !bits(l.keys(t, b), keys) {
				t.Fatalf("%s: room for %d: got %v and %d blocks, want ErrMemory and no change", what, failed, err, b.Blocks)
			}
			if failed == 0 && dev.Used() != used {
				t.Errorf("%s: %d bytes leaked", what, dev.Used()-used)
			}
		}
		if b.Blocks != blocks {
			t.Errorf("%s: got %d blocks, want %d", what, b.Blocks, blocks)
		}
	}
	step("settle", 30, func() error { _, _, err := b.Settle(p, l.ix, l.rawKeys(), 60); return err })
	step("scratch", 30, func() error { return b.PoolScratch(p, l.ix, l.rawKeys(), 60, 100) })
	step("grow", 30, func() error { return b.Grow(l.st, 100) })
	if b.Keys.Rows != 100 {
		t.Errorf("grow: got room for %d blocks, want 100", b.Keys.Rows)
	}
	l.compare(t, b, 60)
	td.left = 100
	c, err := NewBank(td, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CopyFrom(l.st, b, 20); err != nil {
		t.Fatal(err)
	}
	l.compare(t, c, 40)
	panics(t, "copy of blocks that are not there", func() { _ = c.CopyFrom(l.st, b, 31) })
	b.Free()
	c.Free()
	p.Free()
	if dev.Used() != start || b.Bytes() != 0 || p.Bytes() != 0 {
		t.Errorf("after Free: %d bytes held", dev.Used()-start)
	}
}

// lost is a stream whose device is gone.
type lost struct{ metal.Stream }

var errLost = errors.New("device lost")

func (lost) Sync() error { return errLost }

// A device error leaves the bank's blocks as they were; the next owner's call makes them.
func TestSettleDeviceError(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 4, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 100, 1)
	l.write(0, 100)
	b := l.bank(t)
	if _, _, err := b.Settle(NewPooler(dev, lost{l.st}), l.ix, l.rawKeys(), 7); !errors.Is(err, errLost) || b.Blocks != 0 {
		t.Errorf("got %v and %d blocks, want the device's error and none", err, b.Blocks)
	}
	if _, _, err := b.Settle(NewPooler(dev, l.st), l.ix, l.rawKeys(), 7); err != nil {
		t.Fatal(err)
	}
	l.compare(t, b, 7)
}

// While attention is dense the pass does not look at the bank, so an indexer may lag behind it: no race, for -race to see.
func TestDensePassBesideIndexer(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 8, Ratio: 2, Budget: 200, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 8, 1e4, nil), 200, 1)
	b := l.bank(t)
	commits := make(chan int, 64)
	done := make(chan error, 1)
	go func() {
		p := NewPooler(dev, dev.NewStream())
		for n := range commits {
			if _, _, err := b.Settle(p, l.ix, l.rawKeys(), n); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	p := NewPooler(dev, l.st)
	for pos := 0; pos+4 <= 200; pos += 4 {
		l.write(pos, 4)
		if err := b.PoolScratch(p, l.ix, l.rawKeys(), pos, 4); err != nil {
			t.Fatal(err)
		}
		b.SelectSpan(metal.Span{N: 4, Pos: pos})
		commits <- pos + 4
	}
	close(commits)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	l.compare(t, b, 200)
}

// Steady rounds allocate nothing.
func TestRoundAllocs(t *testing.T) {
	dev := openCPU(t)
	g := Geometry{Heads: 1, Dim: 32, Ratio: 4, Budget: 16, Eps: 1e-6}
	l := newLayer(t, dev, g, newFreq(t, 16, 1e4, nil), 4000, 1)
	l.write(0, 4000)
	b, v, x := l.bank(t), NewPooler(dev, l.st), NewPooler(dev, dev.NewStream())
	if err := b.Grow(l.st, 1000); err != nil {
		t.Fatal(err)
	}
	pos := 100
	if _, _, err := b.Settle(x, l.ix, l.rawKeys(), pos); err != nil {
		t.Fatal(err)
	}
	round := func() {
		if err := b.PoolScratch(v, l.ix, l.rawKeys(), pos, 4); err != nil {
			t.Fatal(err)
		}
		b.SelectSpan(metal.Span{N: 4, Pos: pos})
		pos += 3
		if _, _, err := b.Settle(x, l.ix, l.rawKeys(), pos); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("allocations per round: got %v, want 0", n)
	}
}

// One round of the released geometry: a pass of 4 rows pools its block, the indexer selects it.
func BenchmarkRound(bm *testing.B) {
	dev := openCPU(bm)
	g := Geometry{Heads: 4, Dim: 128, Ratio: 4, Budget: 16, Eps: 1e-6}
	l := newLayer(bm, dev, g, newFreq(bm, 64, 1e7, nil), 4096, 1)
	l.write(0, 4096)
	b, v, x := l.bank(bm), NewPooler(dev, l.st), NewPooler(dev, dev.NewStream())
	if err := b.Grow(l.st, 1024); err != nil {
		bm.Fatal(err)
	}
	bm.ReportAllocs()
	for pos := 4092; bm.Loop(); pos += 4 {
		if pos+4 > 4096 {
			pos = 2048
			b.Truncate(512)
			if _, _, err := b.Settle(x, l.ix, l.rawKeys(), pos); err != nil {
				bm.Fatal(err)
			}
		}
		if err := b.PoolScratch(v, l.ix, l.rawKeys(), pos, 4); err != nil {
			bm.Fatal(err)
		}
		if _, _, err := b.Settle(x, l.ix, l.rawKeys(), pos+4); err != nil {
			bm.Fatal(err)
		}
	}
}
