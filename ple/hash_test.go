package ple

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// golden is one PLE layer of testdata/*_ngram.json.
type golden struct {
	Multipliers []uint64 `json:"multipliers"`
	Sizes       []int64  `json:"head_vocab_sizes"`
	Offsets     []int64  `json:"head_offsets"`
	Total       int64    `json:"total_rows"`
	Table       int64    `json:"table_rows"`
	Padded      int64    `json:"padded_rows"`
	Cases       []struct {
		IDs  []int32   `json:"ids"`
		Rows [][]int64 `json:"rows"`
	} `json:"cases"`
}

func load(t *testing.T, name string, dst any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, dst); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

var (
	nano     = Geometry{Vocab: 8192, NgramSize: 3, Heads: 8, Base: 20000, Divisor: 128, Seed: 1234, EOS: 8183, Dim: 256}
	released = Geometry{Vocab: 248320, NgramSize: 3, Heads: 8, Base: 20_000_000, Divisor: 128, Seed: 1234, EOS: 248044, Dim: 2560}
)

func newHash(t testing.TB, g Geometry, k int) *Hash {
	t.Helper()
	c, err := Derive(g, k)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHash(g, c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHashGoldens(t *testing.T) {
	var n golden
	load(t, "nano_ngram.json", &n)
	var r struct{ Layers []golden }
	load(t, "released_ngram.json", &r)
	if len(r.Layers) != 2 || len(n.Cases) == 0 {
		t.Fatalf("goldens: got %d released layers and %d nano cases", len(r.Layers), len(n.Cases))
	}
	for _, tc := range []struct {
		name string
		g    Geometry
		k    int
		want golden
	}{{"nano", nano, 0, n}, {"released", released, 0, r.Layers[0]}, {"released second layer", released, 1, r.Layers[1]}} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHash(t, tc.g, tc.k)
			c := h.Constants()
			if err := c.Equal(Constants{tc.want.Multipliers, tc.want.Sizes, tc.want.Offsets}); err != nil {
				t.Error(err)
			}
			if got := c.Total(); got != tc.want.Total {
				t.Errorf("total rows: got %d, want %d", got, tc.want.Total)
			}
			if got, err := tc.g.Rows(tc.k); err != nil || got != max(tc.want.Padded, tc.want.Table) {
				t.Errorf("padded rows: got %d (%v), want %d", got, err, max(tc.want.Padded, tc.want.Table))
			}
			for _, cs := range tc.want.Cases {
				got := make([]int64, len(cs.IDs)*h.PerRow())
				h.IDs(got, nil, cs.IDs)
				if want := slices.Concat(cs.Rows...); !slices.Equal(got, want) {
					t.Errorf("ids %v: got rows %v, want %v", cs.IDs, got, want)
				}
			}
		})
	}
}

// Worked examples of spec 2.7.2.
func TestHashSpecExamples(t *testing.T) {
	full := newHash(t, released, 0)
	toyGeometry := Geometry{Vocab: 10, NgramSize: 3, Heads: 2, Base: 11, Divisor: 1, EOS: 9, Dim: 4}
	toy, err := NewHash(toyGeometry, Constants{[]uint64{3, 5, 7}, []int64{11, 13, 17, 19}, []int64{0, 11, 24, 41}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name            string
		h               *Hash
		history, tokens []int32
		want            []int64 // first ids of the last token, or all
	}{
		{"A p=0", full, nil, []int32{9707}, []int64{16410909, 39682429, 55103279, 60931720, 87006904, 116506179, 131512017, 152932897,
			169641436, 182022480, 209277433, 237891023, 256841529, 277007269, 290665954, 300984276}},
		{"A p=1", full, []int32{9707}, []int32{11}, []int64{18158303, 36390029, 45652312, 70783524, 98191154, 114024957, 127804916, 159566246,
			175132467, 192583600, 217919476, 237199054, 259336807, 261799367, 289359313, 307699687}},
		{"A p=2", full, []int32{9707, 11}, []int32{1879}, []int64{6380558, 26411572, 56460672, 78566983, 94693008, 106742196, 124822692, 148942556,
			164226950, 190352573, 210933682, 238908951, 242182004, 265475238, 299910982, 312121804}},
		{"B cut by an earlier EOS", full, []int32{7, 1879, 248044}, []int32{100}, []int64{5727835}},
		{"B own EOS does not cut", full, []int32{5}, []int32{248044}, []int64{18392917}},
		{"toy", toy, []int32{7, 8}, []int32{1, 9, 2, 3}, []int64{10, 15, 33, 48, 8, 15, 28, 41, 10, 15, 27, 42, 3, 14, 33, 44}},
	} {
		got := make([]int64, len(tc.tokens)*tc.h.PerRow())
		tc.h.IDs(got, tc.history, tc.tokens)
		if !slices.Equal(got[:len(tc.want)], tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got[:len(tc.want)], tc.want)
		}
	}
}

// segmentRule is the rule in the other words it is known in: the last EOS strictly before a position starts a segment, and
// a shift may not leave it. It works on the whole sequence.
func segmentRule(h *Hash, all []int32, p int) []int64 {
	g, c := h.Geometry(), h.Constants()
	start := 0
	for i := range p {
		if all[i] == g.EOS {
			start = i + 1
		}
	}
	var ids []int64
	mix := uint64(int64(all[p])) * c.Multipliers[0]
	for j := 1; j < g.NgramSize; j++ {
		tok := g.EOS
		if p-start >= j {
			tok = all[p-j]
		}
		mix ^= uint64(int64(tok)) * c.Multipliers[j]
		for n := (j - 1) * g.Heads; n < j*g.Heads; n++ {
			m := new(big.Int).Mod(big.NewInt(int64(mix)), big.NewInt(c.Sizes[n])) // Euclidean: not negative
			ids = append(ids, m.Int64()+c.Offsets[n])
		}
	}
	return ids
}

// Any way to cut a sequence into history and windows gives the same ids, and they follow the segment rule, for any order
// of n-gram, any number of heads and any int32 as a token.
func TestHashCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Geometry{Vocab: 311, NgramSize: rapid.IntRange(2, 6).Draw(t, "order"), Heads: rapid.IntRange(1, 5).Draw(t, "heads"), Base: 97,
			Divisor: 8, Seed: rapid.Uint64().Draw(t, "seed"), EOS: 7}
		g.Dim = 2 * g.PerRow()
		c, err := Derive(g, rapid.IntRange(0, 2).Draw(t, "k"))
		if err != nil {
			t.Fatal(err)
		}
		h, err := NewHash(g, c)
		if err != nil {
			t.Fatal(err)
		}
		token := rapid.OneOf(rapid.Just[int32](7), rapid.Int32Range(0, 310), rapid.Int32(), rapid.Just[int32](math.MinInt32))
		all := rapid.SliceOfN(token, 1, 24).Draw(t, "tokens")
		var want []int64
		for p := range all {
			want = append(want, segmentRule(h, all, p)...)
		}
		got := make([]int64, len(want))
		for at := 0; at < len(all); {
			n := rapid.IntRange(1, len(all)-at).Draw(t, "window")
			from := max(0, at-rapid.IntRange(h.Context(), 10).Draw(t, "history"))
			h.IDs(got[at*h.PerRow():(at+n)*h.PerRow()], all[from:at], all[at:at+n])
			at += n
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for _, id := range got {
			if id < 0 || id >= c.Total() {
				t.Fatalf("id %d out of the table's %d rows", id, c.Total())
			}
		}
	})
}

func TestFloorMod(t *testing.T) {
	for _, mix := range []int64{0, 1, -1, 6, 7, -7, -8, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		for _, size := range []int64{1, 2, 7, 20_000_003, 1 << 48} {
			want := new(big.Int).Mod(big.NewInt(mix), big.NewInt(size)).Int64()
			if got := floorMod(uint64(mix), uint64(size)); got != want {
				t.Errorf("floorMod(%d, %d): got %d, want %d", mix, size, got, want)
			}
		}
	}
}

func TestGeometryErrors(t *testing.T) {
	for name, change := range map[string]func(*Geometry){
		"vocab":   func(g *Geometry) { g.Vocab = 0 },
		"order":   func(g *Geometry) { g.NgramSize = 1 },
		"heads":   func(g *Geometry) { g.Heads = 0 },
		"base":    func(g *Geometry) { g.Base = 1 },
		"divisor": func(g *Geometry) { g.Divisor = 0 },
		"eos":     func(g *Geometry) { g.EOS = -1 },
		"dim":     func(g *Geometry) { g.Dim = 257 },
	} {
		g := nano
		change(&g)
		if _, err := Derive(g, 0); !errors.Is(err, ErrGeometry) {
			t.Errorf("%s: got %v, want ErrGeometry", name, err)
		}
	}
	if _, err := Derive(nano, -1); !errors.Is(err, ErrGeometry) {
		t.Errorf("layer -1: got %v", err)
	}
	c, err := Derive(nano, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Constants){
		"multipliers": func(c *Constants) { c.Multipliers = c.Multipliers[:2] },
		"sizes":       func(c *Constants) { c.Sizes = append(slices.Clone(c.Sizes), 1) },
		"zero size":   func(c *Constants) { c.Sizes = slices.Clone(c.Sizes); c.Sizes[3] = 0 },
		"offset":      func(c *Constants) { c.Offsets = slices.Clone(c.Offsets); c.Offsets[1]++ },
	} {
		x := c
		change(&x)
		if _, err := NewHash(nano, x); !errors.Is(err, ErrGeometry) {
			t.Errorf("%s: got %v, want ErrGeometry", name, err)
		}
	}
	other := c
	other.Multipliers = slices.Clone(c.Multipliers)
	other.Multipliers[1] += 2
	if err := c.Equal(other); !errors.Is(err, ErrGeometry) {
		t.Errorf("other multiplier: got %v, want ErrGeometry", err)
	}
}

func BenchmarkHash(b *testing.B) {
	h := newHash(b, released, 0)
	dst, tokens, history := make([]int64, 4*h.PerRow()), []int32{9707, 11, 1879, 0}, []int32{3, 4}
	b.ReportAllocs()
	for b.Loop() {
		h.IDs(dst, history, tokens)
	}
}
