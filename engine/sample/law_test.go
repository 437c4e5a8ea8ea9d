package sample

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/engine/sample/lawtest"
)

// spread writes d over ids 0..size-1.
func spread(d Dist, size int) []float64 {
	p := make([]float64, size)
	for i, id := range d.IDs {
		p[id] = d.P[i]
	}
	return p
}

var lawCases = []struct {
	name string
	p    Params
}{
	{"plain", Params{Temperature: 1, TopP: 1, Repetition: 1}},
	{"hot", Params{Temperature: 1.7, TopP: 1, Repetition: 1}},
	{"top-k", Params{Temperature: 1, TopK: 7, TopP: 1, Repetition: 1}},
	{"top-p", Params{Temperature: 1, TopP: 0.8, Repetition: 1}},
	{"min-p", Params{Temperature: 0.7, TopP: 1, MinP: 0.1, Repetition: 1}},
	{"all", Params{Temperature: 1.2, TopK: 12, TopP: 0.95, MinP: 0.02, Presence: 0.5, Frequency: 0.2, Repetition: 1.3, Bias: []Bias{{2, 1}}}},
}

// TestLaw: over many seeds at one position, and over many positions of one seed, tokens follow the filtered distribution, and no other.
func TestLaw(t *testing.T) {
	const size, n = 24, 40000
	row := gaussianRow(rand.New(rand.NewPCG(21, 22)), size, 1.5)
	v := NewVocab(size, func(id int32) bool { return id != 5 })
	for _, c := range lawCases {
		history := func(p Params) *History {
			h := NewHistory([]int32{1, 3}, p)
			h.Push(2)
			h.Push(3)
			return h
		}
		d, err := New(c.p, v).Dist(row, 0, history(c.p))
		if err != nil {
			t.Fatal(err)
		}
		want := spread(d, size)
		bySeed, byPos := make([]int, size), make([]int, size)
		fixed := New(c.p, v)
		h := history(c.p)
		for i := range n {
			p := c.p
			p.Seed = uint64(i)
			s := fixed
			s.p.Seed = p.Seed
			a, err := s.Sample(row, 100, h)
			if err != nil {
				t.Fatal(err)
			}
			s.p.Seed = 12345
			b, err := s.Sample(row, i, h)
			if err != nil {
				t.Fatal(err)
			}
			bySeed[a.ID]++
			byPos[b.ID]++
		}
		if err := lawtest.Check(bySeed, want); err != nil {
			t.Errorf("%s, over seeds: %v", c.name, err)
		}
		if err := lawtest.Check(byPos, want); err != nil {
			t.Errorf("%s, over positions: %v", c.name, err)
		}
		// Power: the same candidates at a temperature 15 percent off are another law.
		wrong, sum := make([]float64, size), 0.0
		for i, p := range want {
			if p > 0 {
				wrong[i] = math.Pow(p, 1/1.15)
				sum += wrong[i]
			}
		}
		for i := range wrong {
			wrong[i] /= sum
		}
		if lawtest.Check(bySeed, wrong) == nil {
			t.Errorf("%s: a law at another temperature was not rejected: the test has no power", c.name)
		}
	}
}

// TestPositionsAreIndependent: pairs of tokens at neighbouring positions, and at one position under two choices, follow the product law.
func TestPositionsAreIndependent(t *testing.T) {
	const size, n = 4, 30000
	row := []float32{0, 0.5, -0.5, 0.2}
	v := NewVocab(size, nil)
	p := Defaults()
	d, _ := New(p, v).Dist(row, 0, nil)
	want := make([]float64, size*size)
	for i := range want {
		want[i] = d.P[i/size] * d.P[i%size]
	}
	next, choice := make([]int, size*size), make([]int, size*size)
	s := New(p, v)
	for i := range n {
		s.p.Seed, s.p.Choice = uint64(i), 0
		a, _ := s.Sample(row, 9, nil)
		b, _ := s.Sample(row, 10, nil)
		s.p.Choice = 1
		c, _ := s.Sample(row, 9, nil)
		next[a.ID*size+b.ID]++
		choice[a.ID*size+c.ID]++
	}
	if err := lawtest.Check(next, want); err != nil {
		t.Errorf("neighbouring positions: %v", err)
	}
	if err := lawtest.Check(choice, want); err != nil {
		t.Errorf("two choices: %v", err)
	}
}

// TestCoupledAcceptanceBound: two different laws sampled with the same noise agree at least (1-TV)/(1+TV) of the time (Daliri, Musco, Suresh, arXiv 2408.07978),
// and far more often than independent draws would.
func TestCoupledAcceptanceBound(t *testing.T) {
	const size, n = 50, 20000
	r := rand.New(rand.NewPCG(31, 32))
	v := NewVocab(size, nil)
	for _, noise := range []float64{0, 0.1, 0.5, 1, 3} {
		target := gaussianRow(r, size, 2)
		draft := make([]float32, size)
		for i, x := range target {
			draft[i] = x + float32(r.NormFloat64()*noise)
		}
		s := New(Defaults(), v)
		pd, _ := s.Dist(target, 0, nil)
		qd, _ := s.Dist(draft, 0, nil)
		tv, chance := 0.0, 0.0
		for i := range pd.P {
			tv += math.Abs(pd.P[i]-qd.P[i]) / 2
			chance += pd.P[i] * qd.P[i]
		}
		agree := 0
		for pos := range n {
			a, _ := s.Sample(target, pos, nil)
			b, _ := s.Sample(draft, pos, nil)
			if a.ID == b.ID {
				agree++
			}
		}
		got, bound := float64(agree)/n, (1-tv)/(1+tv)
		if got < bound-4*math.Sqrt(0.25/n) {
			t.Errorf("TV %.3f: agreement %.4f, want at least %.4f", tv, got, bound)
		}
		if noise == 0 && agree != n {
			t.Errorf("equal rows agree %d times of %d", agree, n)
		}
		t.Logf("TV %.3f: agreement %.4f, bound %.4f, independent draws %.4f", tv, got, bound, chance)
		if noise == 0.5 && got < chance+0.1 {
			t.Errorf("TV %.3f: agreement %.4f is no better than independent draws' %.4f: the noise is not shared", tv, got, chance)
		}
	}
}

// TestPickLaw: inverse-CDF draws with the pick domain follow the distribution.
func TestPickLaw(t *testing.T) {
	d := Dist{IDs: []int32{1, 2, 5, 6}, P: []float64{0.2, 0, 0.5, 0.3}}
	counts := make([]int, 7)
	for pos := range 30000 {
		counts[d.Pick(Noise{Seed: 3}.Uniform(DomainPick, pos))]++
	}
	if err := lawtest.Check(counts, spread(d, 7)); err != nil {
		t.Error(err)
	}
	for _, u := range []float64{0x1p-53, 1 - 0x1p-53} {
		want := map[bool]int32{true: 1, false: 6}[u < 0.5]
		if got := d.Pick(u); got != want {
			t.Errorf("Pick(%v) = %d, want %d", u, got, want)
		}
	}
	if got := (&Dist{}).Pick(0.5); got != -1 {
		t.Errorf("Pick of an empty distribution = %d, want -1", got)
	}
}

func TestLess(t *testing.T) {
	p := Dist{IDs: []int32{1, 2, 5, 9}, P: []float64{0.25, 0.25, 0.25, 0.25}}
	q := Dist{IDs: []int32{0, 2, 5, 7, 9}, P: []float64{0.125, 0.5, 0.125, 0.125, 0.125}}
	own := p.Clone()
	for _, c := range []struct {
		name   string
		dst, p *Dist
	}{{"fresh", &Dist{}, &p}, {"in place", &own, &own}} {
		mass := c.dst.Less(c.p, &q)
		if d := c.dst; mass != 0.5 || len(d.IDs) != 3 || d.Prob(1) != 0.25 || d.Prob(5) != 0.125 || d.Prob(9) != 0.125 || d.Prob(2) != 0 {
			t.Errorf("%s: residual %v with mass %v, want 1:0.25 5:0.125 9:0.125 with mass 0.5", c.name, *d, mass)
		}
	}
}
