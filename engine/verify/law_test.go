package verify

import (
	"math"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/sample/lawtest"
)

// The law tests decode three tokens with a drafter of another law and hold the joint counts of the three against the product of the trunk's own filtered distributions.

const (
	lawVocab  = 6
	lawTokens = 3
	lawRuns   = 30000
)

type lawCase struct {
	name  string
	p     sample.Params // of the request: the trunk's, and the drafter's unless q is set
	q     *sample.Params
	flaw  float64
	depth int
}

func lawCases() []lawCase {
	plain := sample.Params{Temperature: 1, TopP: 1, Repetition: 1}
	filtered := sample.Params{Temperature: 1.3, TopK: 4, TopP: 0.95, MinP: 0.02, Repetition: 1.2, Presence: 0.4}
	narrow := sample.Params{Temperature: 1, TopK: 2, TopP: 1, Repetition: 1}
	return []lawCase{
		{name: "good drafter", p: plain, flaw: 0.5, depth: 3},
		{name: "bad drafter", p: plain, flaw: 3, depth: 2},
		{name: "filters and penalties", p: filtered, flaw: 1, depth: 3},
		{name: "q has less support than p", p: plain, q: &narrow, flaw: 1, depth: 2},
		{name: "q has more support than p", p: narrow, q: &plain, flaw: 1, depth: 2},
	}
}

// decode makes lawTokens tokens by rounds of the case's depth. accept is Accept or a wrong rule.
func (c lawCase) decode(rule Rule, seed uint64, trunk, drafter rows, accept acceptor, st *Stats) int {
	p := c.p
	p.Seed = seed
	q := p
	if c.q != nil {
		q = *c.q
		q.Seed = seed
	}
	s, ds := sample.New(p, trunk.v), sample.New(q, trunk.v)
	prompt := []int32{1, 2}
	h := sample.NewHistory(prompt, p)
	prefix, index := slices.Clone(prompt), 0
	for n := 0; n < lawTokens; {
		depth := min(c.depth, lawTokens-n-1)
		rs := make([]Row, depth+1)
		dh, run := h.Clone(), slices.Clone(prefix)
		for j := range rs {
			rs[j] = Row{Logits: trunk.of(run), Draft: NoDraft}
			if j < depth {
				d := must(ds.Dist(drafter.of(run), len(run), dh))
				rs[j].Q = &d
				rs[j].Draft = must(ds.Sample(drafter.of(run), len(run), dh)).ID
				dh.Push(rs[j].Draft)
				run = append(run, rs[j].Draft)
			}
		}
		r := must(accept(rule, s, h, len(prefix), rs, Limits{MaxTokens: lawTokens - n}))
		st.Observe(depth, r)
		for _, tok := range r.Tokens {
			prefix = append(prefix, tok.ID)
			index = index*lawVocab + int(tok.ID)
			n++
		}
	}
	return index
}

type acceptor func(Rule, *sample.Sampler, *sample.History, int, []Row, Limits) (Result, error)

// rows caches a fake model's logits, as a prefix's row is asked for many times.
type rows struct {
	model
	v    *sample.Vocab
	seen map[int][]float32
}

func (r rows) of(prefix []int32) []float32 {
	key := 1
	for _, id := range prefix {
		key = key*lawVocab + int(id)
	}
	if _, ok := r.seen[key]; !ok {
		r.seen[key] = r.logits(prefix)
	}
	return r.seen[key]
}

// law is the joint law of the tokens under plain sampling.
func (c lawCase) law(trunk rows) []float64 {
	want := make([]float64, lawVocab*lawVocab*lawVocab)
	s := sample.New(c.p, trunk.v)
	prompt := []int32{1, 2}
	var walk func(out []int32, index int, prob float64)
	walk = func(out []int32, index int, prob float64) {
		if len(out) == lawTokens {
			want[index] = prob
			return
		}
		h := sample.NewHistory(prompt, c.p)
		for _, id := range out {
			h.Push(id)
		}
		d := must(s.Dist(trunk.of(append(slices.Clone(prompt), out...)), 0, h))
		for i, id := range d.IDs {
			walk(append(slices.Clone(out), id), index*lawVocab+int(id), prob*d.P[i])
		}
	}
	walk(nil, 0, 1)
	return want
}

func (c lawCase) models() (trunk, drafter rows) {
	v := sample.NewVocab(lawVocab, nil)
	trunk = rows{model{vocab: lawVocab, seed: 4}, v, map[int][]float32{}}
	drafter = rows{model{vocab: lawVocab, seed: 4, flaw: c.flaw}, v, map[int][]float32{}}
	return trunk, drafter
}

func TestLawOfBothRules(t *testing.T) {
	for _, c := range lawCases() {
		trunk, drafter := c.models()
		want := c.law(trunk)
		for _, rule := range []Rule{Coupled, Residual} {
			counts := make([]int, len(want))
			var st Stats
			for seed := range uint64(lawRuns) {
				counts[c.decode(rule, seed, trunk, drafter, Accept, &st)]++
			}
			stat, critical := lawtest.ChiSquare(counts, want)
			t.Logf("%s, %v: chi-square %.1f, critical %.1f; %.2f tokens per round, first draft accepted %.3f", c.name, rule, stat, critical, st.TokensPerRound(), st.Rate(0))
			if stat > critical {
				t.Errorf("%s, %v: chi-square %.1f, critical %.1f: the tokens do not follow the filtered distribution", c.name, rule, stat, critical)
			}
		}
	}
}

// TestLawHasPower: three well-known wrong rules are rejected by the very same test.
func TestLawHasPower(t *testing.T) {
	c := lawCases()[0]
	trunk, drafter := c.models()
	want := c.law(trunk)
	for name, wrong := range map[string]acceptor{
		"a rejected draft's token comes from p, not from the residual": func(_ Rule, s *sample.Sampler, h *sample.History, pos int, rs []Row, lim Limits) (Result, error) {
			return wrongRule(s, h, pos, rs, func(pd, qd, u float64) bool { return u*qd < pd })
		},
		"every draft is accepted": func(_ Rule, s *sample.Sampler, h *sample.History, pos int, rs []Row, lim Limits) (Result, error) {
			return wrongRule(s, h, pos, rs, func(pd, qd, u float64) bool { return true })
		},
		"accepted with probability p, else drawn anew": func(_ Rule, s *sample.Sampler, h *sample.History, pos int, rs []Row, lim Limits) (Result, error) {
			return wrongRule(s, h, pos, rs, func(pd, qd, u float64) bool { return u < pd })
		},
	} {
		counts := make([]int, len(want))
		var st Stats
		for seed := range uint64(lawRuns) {
			counts[c.decode(Residual, seed, trunk, drafter, wrong, &st)]++
		}
		if stat, critical := lawtest.ChiSquare(counts, want); stat <= critical {
			t.Errorf("%s: chi-square %.1f, critical %.1f: not rejected", name, stat, critical)
		}
	}
}

func wrongRule(s *sample.Sampler, h *sample.History, pos int, rs []Row, accept func(pd, qd, u float64) bool) (Result, error) {
	var r Result
	for j, row := range rs {
		p := must(s.DistAllowed(row.Logits, pos+j, h, nil))
		ok := row.Draft >= 0 && accept(p.Prob(row.Draft), row.Q.Prob(row.Draft), s.Noise().Uniform(sample.DomainAccept, pos+j))
		id := row.Draft
		if !ok {
			id = p.Pick(s.Noise().Uniform(sample.DomainPick, pos+j))
		}
		r.Tokens = append(r.Tokens, sample.Token{ID: id})
		h.Push(id)
		if !ok {
			break
		}
		r.Accepted++
	}
	return r, nil
}

// TestAcceptanceRates: of one draft, rule residual accepts 1-TV, rule coupled at least (1-TV)/(1+TV) and at most 1-TV.
func TestAcceptanceRates(t *testing.T) {
	const vocab, n = 40, 20000
	v := sample.NewVocab(vocab, nil)
	trunk := model{vocab: vocab, seed: 8}
	for _, flaw := range []float64{0.2, 1, 3} {
		drafter := trunk
		drafter.flaw = flaw
		target, draft := trunk.logits(nil), drafter.logits(nil)
		s := sample.New(sample.Defaults(), v)
		p, q := must(s.Dist(target, 0, nil)), must(s.Dist(draft, 0, nil))
		tv := 0.0
		for i := range p.P {
			tv += math.Abs(p.P[i]-q.P[i]) / 2
		}
		var rate [2]float64
		for pos := range n {
			row := []Row{{Logits: target, Draft: must(s.Sample(draft, pos, nil)).ID, Q: &q}}
			for _, rule := range []Rule{Coupled, Residual} {
				rate[rule] += float64(must(Accept(rule, s, nil, pos, row, Limits{MaxTokens: 9})).Accepted) / n
			}
		}
		t.Logf("TV %.3f: coupled %.4f (bound %.4f), residual %.4f (law %.4f)", tv, rate[Coupled], (1-tv)/(1+tv), rate[Residual], 1-tv)
		slack := 4 * math.Sqrt(0.25/n)
		if rate[Coupled] < (1-tv)/(1+tv)-slack || rate[Coupled] > 1-tv+slack {
			t.Errorf("TV %.3f: coupled accepts %.4f, want from %.4f to %.4f", tv, rate[Coupled], (1-tv)/(1+tv), 1-tv)
		}
		if math.Abs(rate[Residual]-(1-tv)) > slack {
			t.Errorf("TV %.3f: residual accepts %.4f, want %.4f", tv, rate[Residual], 1-tv)
		}
	}
}

// TestResidualRepeats: the same drafts give the same tokens again, from another sampler too.
func TestResidualRepeats(t *testing.T) {
	c := lawCases()[2]
	trunk, drafter := c.models()
	var st Stats
	for seed := range uint64(500) {
		a := c.decode(Residual, seed, trunk, drafter, Accept, &st)
		if b := c.decode(Residual, seed, trunk, drafter, Accept, &st); a != b {
			t.Fatalf("seed %d: %d, then %d", seed, a, b)
		}
	}
}
