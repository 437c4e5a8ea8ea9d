package ple_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

// rig is a small model's PLE layers on a device, with the host values of its weights.
type rig struct {
	dev    metal.Device
	layers []*ple.Layer
	files  []*pletest.Reader
	key    [][]float32 // [W, Dim] per layer
	value  [][]float32 // [H, Dim]
	norm   [][]float32 // [W]
}

const (
	rigStreams, rigHidden, rigDim = 3, 20, 24 // 4-grams, 2 heads per order: 6 rows of 4
	rigEOS                        = 9
)

func newRig(t testing.TB, dev metal.Device, format metal.Format, inFile bool, cacheRows int64) *rig {
	t.Helper()
	r := &rig{dev: dev}
	rng := rand.New(rand.NewPCG(7, 7))
	weight := func(name string, rows, cols int) (metal.Weight, []float32) {
		v := make([]float32, rows*cols)
		data := make([]byte, 0, 4*len(v))
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			b := math.Float32bits(v[i])
			data = append(data, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		}
		w, err := dev.Load(metal.WeightSpec{Name: name, Format: metal.FormatF32, Rows: rows, Cols: cols, Parts: []metal.Part{{Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
		return w, v
	}
	g := ple.Geometry{Vocab: 311, NgramSize: 4, Heads: 2, Base: 50, Divisor: 8, Seed: 3, EOS: rigEOS, Dim: rigDim}
	for k, at := range []int{1, 4} {
		c, err := ple.Derive(g, k)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := ple.NewHash(g, c)
		if err != nil {
			t.Fatal(err)
		}
		b := pletest.Table{Rows: c.Rows(g.Divisor), Dim: 4, Format: format, Shards: 2, Seed: uint64(k), InFile: inFile}
		if format == metal.FormatQ8 {
			b.Group = 2
		}
		table, file := openTable(t, b)
		l := &ple.Layer{K: k, At: at, Hash: hash, Streams: rigStreams, Hidden: rigHidden, Dim: rigDim, Eps: 1e-5}
		l.Cache = newCache(t, table, cacheRows, ple.CacheOptions{Bulk: 200})
		var key, value []float32
		l.Key, key = weight("key_proj", rigStreams*rigHidden, rigDim)
		l.Value, value = weight("value_proj", rigHidden, rigDim)
		buf, err := dev.Alloc(metal.F32, rigStreams*rigHidden)
		if err != nil {
			t.Fatal(err)
		}
		norm := make([]float32, rigStreams*rigHidden)
		for i := range norm {
			norm[i] = float32(1 + 0.1*rng.NormFloat64())
		}
		dev.NewStream().Write(metal.NewVec(buf), norm)
		l.NormKey = metal.NewVec(buf)
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		r.layers = append(r.layers, l)
		r.files = append(r.files, file)
		r.key, r.value, r.norm = append(r.key, key), append(r.value, value), append(r.norm, norm)
	}
	return r
}

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

// made reads all planes of a window: keys and values of each layer, row by row.
func made(t testing.TB, dev metal.Device, w *ple.Window, layers int) [][]float32 {
	t.Helper()
	st := dev.NewStream()
	var out [][]float32
	for k := range layers {
		keys, values := w.Plane(k)
		for _, m := range []metal.Mat{keys, values} {
			v := make([]float32, m.Rows*m.Cols)
			if err := st.Read(v, metal.Vec{Buf: m.Buf, Off: m.Off, N: len(v)}); err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
	}
	return out
}

func sameBits(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(p, q float32) bool { return math.Float32bits(p) == math.Float32bits(q) })
	})
}

func newWindow(t testing.TB, r *rig, rows int) *ple.Window {
	t.Helper()
	w, err := ple.NewWindow(r.dev, r.layers, rows)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The planes are what spec 2.7.3 says, computed here in f64 from the table's own rows.
func TestMakeValues(t *testing.T) {
	dev := openCPU(t)
	for _, format := range []metal.Format{metal.FormatBF16, metal.FormatQ8, metal.FormatF32} {
		r := newRig(t, dev, format, false, 30)
		w, m := newWindow(t, r, 8), ple.NewMaker(dev, r.layers)
		tokens := []int32{4, rigEOS, 300, 17, 17}
		w.Reset([]int32{1, 2, 3}, 3)
		w.Push(tokens...)
		if err := m.Make(t.Context(), w, 0, w.Rows()); err != nil {
			t.Fatal(err)
		}
		got := made(t, dev, w, 2)
		for k, l := range r.layers {
			ids := make([]int64, len(tokens)*l.Hash.PerRow())
			l.Hash.IDs(ids, []int32{1, 2, 3}, tokens)
			table := l.Cache.Table()
			e := make([]float32, len(ids)*table.Dim())
			raw := make([]byte, table.RowBytes())
			for i, id := range ids {
				if err := table.Read(raw, id); err != nil {
					t.Fatal(err)
				}
				table.Dequant(e[i*table.Dim():(i+1)*table.Dim()], raw)
			}
			for row := range tokens {
				x := e[row*rigDim : (row+1)*rigDim]
				near(t, "values", got[2*k+1][row*rigHidden:(row+1)*rigHidden], product(r.value[k], x))
				keys := product(r.key[k], x)
				for s := range rigStreams {
					part := keys[s*rigHidden : (s+1)*rigHidden]
					var square float64
					for _, v := range part {
						square += v * v
					}
					for i := range part {
						part[i] *= float64(r.norm[k][s*rigHidden+i]) / math.Sqrt(square/rigHidden+1e-5)
					}
				}
				near(t, "keys", got[2*k][row*rigStreams*rigHidden:(row+1)*rigStreams*rigHidden], keys)
			}
		}
	}
}

func product(w []float32, x []float32) []float64 {
	out := make([]float64, len(w)/len(x))
	for i := range out {
		for j, v := range x {
			out[i] += float64(w[i*len(x)+j]) * float64(v)
		}
	}
	return out
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, g := range got {
		// f32 sums of 24 products: about 24 roundings of 6e-8 on terms of a few units.
		if d := math.Abs(float64(g) - want[i]); !(d <= 2e-5*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: value %d: got %v, want %v", what, i, g, want[i])
		}
	}
}

// However a run of rows is cut into windows and calls, with or without the cache, over mapped or file tables, each row
// has the same bits, and needs its own history only.
func TestMakeRowExact(t *testing.T) {
	dev := openCPU(t)
	r, file := newRig(t, dev, metal.FormatBF16, false, 25), newRig(t, dev, metal.FormatBF16, true, 7)
	whole, part := newWindow(t, r, 40), newWindow(t, r, 40)
	ref := ple.NewMaker(dev, r.layers)
	makers := []*ple.Maker{ref, ple.NewMaker(dev, r.layers, ple.NoCache()), ple.NewMaker(dev, file.layers), ple.NewMaker(dev, file.layers, ple.NoCache())}
	rapid.Check(t, func(rt *rapid.T) {
		tokens := rapid.SliceOfN(rapid.OneOf(rapid.Just[int32](rigEOS), rapid.Int32Range(0, 310)), 1, 40).Draw(rt, "tokens")
		whole.Reset(nil, 0)
		whole.Push(tokens...)
		if err := ref.Make(context.Background(), whole, 0, len(tokens)); err != nil {
			rt.Fatal(err)
		}
		want := made(t, dev, whole, 2)
		for at := 0; at < len(tokens); {
			n := rapid.IntRange(1, len(tokens)-at).Draw(rt, "rows")
			history := tokens[max(0, at-rapid.IntRange(3, 9).Draw(rt, "history")):at]
			part.Reset(history, at)
			for i := 0; i < n; { // tokens become known a few at a time
				k := rapid.IntRange(1, n-i).Draw(rt, "step")
				part.Push(tokens[at+i : at+i+k]...)
				m := rapid.SampledFrom(makers).Draw(rt, "maker")
				if err := m.Make(context.Background(), part, i, i+k); err != nil {
					rt.Fatal(err)
				}
				i += k
			}
			got := made(t, dev, part, 2)
			for p, wide := range []int{rigStreams * rigHidden, rigHidden, rigStreams * rigHidden, rigHidden} {
				if !sameBits([][]float32{got[p]}, [][]float32{want[p][at*wide : (at+n)*wide]}) {
					rt.Fatalf("plane %d: rows %d to %d differ from the rows made together", p, at, at+n)
				}
			}
			at += n
		}
	})
}

// A prefill chunk longer than the maker's own chunk, partly through the bulk path.
func TestMakeLong(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatQ8, false, 1000)
	long, single := newWindow(t, r, 600), newWindow(t, r, 1)
	m := ple.NewMaker(dev, r.layers)
	rng := rand.New(rand.NewPCG(3, 3))
	tokens := make([]int32, 550)
	for i := range tokens {
		tokens[i] = rng.Int32N(311)
	}
	long.Reset(nil, 0)
	long.Push(tokens...)
	if err := m.Make(t.Context(), long, 0, len(tokens)); err != nil {
		t.Fatal(err)
	}
	if r.layers[0].Cache.Stats().Direct == 0 {
		t.Error("no gather went past the LRU")
	}
	all := made(t, dev, long, 2)
	for at := 0; at < len(tokens); at += 61 {
		single.Reset(tokens[:at], at)
		single.Push(tokens[at])
		if err := m.Make(t.Context(), single, 0, 1); err != nil {
			t.Fatal(err)
		}
		got := made(t, dev, single, 2)
		for p, wide := range []int{rigStreams * rigHidden, rigHidden, rigStreams * rigHidden, rigHidden} {
			if !sameBits([][]float32{got[p]}, [][]float32{all[p][at*wide : (at+1)*wide]}) {
				t.Fatalf("row %d, plane %d: differs when made alone", at, p)
			}
		}
	}
}

// An I/O error names layer and position, and the same window can be made again.
func TestMakeReadError(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatBF16, true, 0)
	w, m := newWindow(t, r, 4), ple.NewMaker(dev, r.layers)
	w.Reset([]int32{5, 6, 7}, 100)
	w.Push(8, 10, 11, 12)
	if err := m.Make(t.Context(), w, 0, 4); err != nil {
		t.Fatal(err)
	}
	want := made(t, dev, w, 2)
	broken := errors.New("disk on fire")
	again := func() {
		w.Reset([]int32{5, 6, 7}, 100)
		w.Push(8, 10)
		if err := m.Make(t.Context(), w, 0, 2); err != nil {
			t.Fatal(err)
		}
		w.Push(11, 12)
	}
	again()
	r.files[1].Fail = func(int64, int) error { return broken }
	err := m.Make(t.Context(), w, 2, 4)
	if !errors.Is(err, ple.ErrRead) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "layer 4: rows at position 102") {
		t.Errorf("got %v, want ErrRead and the reader's error, naming layer 4 and position 102", err)
	}
	if w.Gate.Ready() {
		t.Error("Make opened the gate")
	}
	r.files[1].Fail = nil
	if err := m.Make(t.Context(), w, 2, 4); err != nil {
		t.Fatal(err)
	}
	if !sameBits(made(t, dev, w, 2), want) {
		t.Error("after a failed Make the planes differ")
	}
	again()
	gone := errors.New("client gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := m.Make(ctx, w, 0, 4); !errors.Is(err, gone) || errors.Is(err, ple.ErrRead) {
		t.Errorf("cancelled: got %v, want the cause alone", err)
	}
	r.layers[1].Cache = nil
	if err := m.Make(t.Context(), w, 0, 4); !errors.Is(err, ple.ErrRead) {
		t.Errorf("no row provider: got %v, want ErrRead", err)
	}
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

func TestWindowMemory(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatBF16, false, 8)
	before := dev.Used()
	for n := range 4 {
		if _, err := ple.NewWindow(&tight{dev, n}, r.layers, 5); !errors.Is(err, metal.ErrMemory) {
			t.Errorf("room for %d buffers: got %v, want ErrMemory", n, err)
		}
		if dev.Used() != before {
			t.Fatalf("room for %d buffers: %d bytes leaked", n, dev.Used()-before)
		}
	}
	w := newWindow(t, r, 5)
	if got, want := dev.Used()-before, w.Bytes(); got != want || want != ple.WindowBytes(r.layers, 5) {
		t.Errorf("bytes: device holds %d, window says %d", got, want)
	}
	m := ple.NewMaker(&tight{dev, 0}, r.layers)
	w.Reset(nil, 0)
	w.Push(1)
	if err := m.Make(t.Context(), w, 0, 1); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("maker without room: got %v, want ErrMemory", err)
	}
	m = ple.NewMaker(dev, r.layers)
	if err := m.Make(t.Context(), w, 0, 1); err != nil {
		t.Fatal(err)
	}
	if m.Bytes() == 0 {
		t.Error("maker bytes: got 0")
	}
	m.Free()
	w.Free()
	if dev.Used() != before || w.Bytes() != 0 || m.Bytes() != 0 {
		t.Errorf("after Free: %d bytes held", dev.Used()-before)
	}
}

func TestWindowRows(t *testing.T) {
	r := newRig(t, openCPU(t), metal.FormatBF16, false, 8)
	w := newWindow(t, r, 3)
	first := w.Gate
	w.Reset([]int32{1, 2, 3, 4, 5}, 5)
	if w.Gate == first {
		t.Error("Reset kept the gate")
	}
	w.Push(6)
	w.Push(7, 8)
	if w.Rows() != 3 || w.Max() != 3 || w.Pos() != 5 || !slices.Equal(w.Tokens(), []int32{6, 7, 8}) {
		t.Errorf("got %d rows of %d at %d: %v", w.Rows(), w.Max(), w.Pos(), w.Tokens())
	}
	panics(t, "Push past the end", func() { w.Push(9) })
	panics(t, "Make past the rows", func() { _ = ple.NewMaker(r.dev, r.layers).Make(t.Context(), w, 0, 4) })
	panics(t, "history too short", func() { w.Reset([]int32{1, 2}, 3) })
	w.Reset([]int32{1, 2}, 2) // the start of a sequence has less
	if w.Rows() != 0 || w.Pos() != 2 {
		t.Errorf("got %d rows at %d, want 0 at 2", w.Rows(), w.Pos())
	}
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

// History from before the sequence's start is no history: the window takes no more of it than there are positions.
func TestWindowHistoryAtStart(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatBF16, false, 30)
	w, m := newWindow(t, r, 2), ple.NewMaker(dev, r.layers)
	var planes [][][]float32
	for _, history := range [][]int32{{7}, {5, 6, 7}} {
		w.Reset(history, 1)
		w.Push(8)
		if err := m.Make(t.Context(), w, 0, 1); err != nil {
			t.Fatal(err)
		}
		planes = append(planes, made(t, dev, w, 2))
	}
	if !sameBits(planes[0], planes[1]) {
		t.Error("tokens before position 0 changed a row")
	}
}

// Steady rounds allocate nothing but what the gate needs.
func TestMakeAllocs(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatQ8, false, 1000)
	w, m := newWindow(t, r, 4), ple.NewMaker(dev, r.layers)
	history, tokens := []int32{1, 2, 3}, []int32{4, 5, 6, 7}
	round := func() {
		w.Reset(history, 3)
		w.Push(tokens...)
		if err := m.Make(t.Context(), w, 0, 4); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(50, round); n > 6 {
		t.Errorf("allocations per round: got %v, want a gate and little more", n)
	}
}
