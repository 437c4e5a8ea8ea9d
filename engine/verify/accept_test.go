package verify

import (
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/engine/sample"
)

// model is a fake language model: logits are a fixed random function of the whole prefix. flaw above 0 bends them, as a drafter's.
type model struct {
	vocab int
	seed  uint64
	flaw  float64
}

func (m model) logits(prefix []int32) []float32 {
	h := fnv.New64a()
	for _, id := range prefix {
		h.Write([]byte{byte(id), byte(id >> 8)})
	}
	r := rand.New(rand.NewPCG(m.seed, h.Sum64()))
	bend := rand.New(rand.NewPCG(m.seed+1, h.Sum64()))
	row := make([]float32, m.vocab)
	for i := range row {
		row[i] = float32(r.NormFloat64()*2 + bend.NormFloat64()*m.flaw)
	}
	return row
}

// allowed is a fake grammar: some ids are out, depending on the prefix.
func allowed(v *sample.Vocab, prefix []int32) []uint64 {
	allow := make([]uint64, v.Words())
	for i := range allow {
		allow[i] = ^uint64(0) ^ 1<<(len(prefix)%13)
	}
	return allow
}

// must is for calls that the tests' well-formed rows cannot make fail.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// sequential samples n tokens one by one, ending at a stop id: what speculation must not change.
func sequential(t interface{ Fatal(...any) }, p sample.Params, v *sample.Vocab, m model, prompt []int32, n int, stop func(int32) bool) ([]sample.Token, Reason) {
	s, h := sample.New(p, v), sample.NewHistory(prompt, p)
	prefix := slices.Clone(prompt)
	var out []sample.Token
	for len(out) < n {
		tok, err := s.SampleAllowed(m.logits(prefix), len(prefix), h, allowed(v, prefix))
		if err != nil {
			t.Fatal(err)
		}
		h.Push(tok.ID)
		prefix = append(prefix, tok.ID)
		out = append(out, tok)
		if stop(tok.ID) {
			return out, ReasonStop
		}
	}
	return out, ReasonLength
}

// TestCoupledEqualsSequential: whatever the drafts are (a drafter's, the truth, noise, nothing), in rounds of any width, the emitted tokens and logprobs are those of plain sampling.
func TestCoupledEqualsSequential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vocab := rapid.IntRange(20, 80).Draw(t, "vocab")
		p := sample.Params{
			Temperature: rapid.SampledFrom([]float64{0, 0.7, 1}).Draw(t, "temperature"),
			TopK:        rapid.SampledFrom([]int{0, 5}).Draw(t, "top-k"),
			TopP:        rapid.SampledFrom([]float64{1, 0.9}).Draw(t, "top-p"),
			Presence:    rapid.SampledFrom([]float64{0, 1}).Draw(t, "presence"),
			Frequency:   rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "frequency"),
			Repetition:  rapid.SampledFrom([]float64{1, 1.4}).Draw(t, "repetition"),
			Seed:        rapid.Uint64().Draw(t, "seed"),
			Logprobs:    true, TopLogprobs: 2,
		}
		v := sample.NewVocab(vocab, func(id int32) bool { return id != 7 })
		trunk := model{vocab: vocab, seed: rapid.Uint64().Draw(t, "model")}
		drafter := trunk
		drafter.flaw = rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "flaw")
		prompt := []int32{1, 2, 3, 2}
		stop := func(id int32) bool { return id == 11 }
		total := rapid.IntRange(1, 30).Draw(t, "tokens")
		want, wantReason := sequential(t, p, v, trunk, prompt, total, stop)

		s, h := sample.New(p, v), sample.NewHistory(prompt, p)
		ds := s.Clone()
		prefix := slices.Clone(prompt)
		var got []sample.Token
		var reason Reason
		for reason == ReasonNone {
			depth := rapid.IntRange(0, 7).Draw(t, "depth")
			random := rapid.Bool().Draw(t, "random drafts")
			rows := make([]Row, 0, depth+1)
			dh, run := h.Clone(), slices.Clone(prefix)
			for j := range depth + 1 {
				row := Row{Logits: trunk.logits(run), Draft: NoDraft, Allow: allowed(v, run)}
				if j < depth {
					if row.Draft = int32(rapid.IntRange(0, vocab-1).Draw(t, "draft")); !random {
						row.Draft = must(ds.SampleAllowed(drafter.logits(run), len(run), dh, row.Allow)).ID
					}
					dh.Push(row.Draft)
					run = append(run, row.Draft)
				}
				rows = append(rows, row)
			}
			r, err := Accept(Coupled, s, h, len(prefix), rows, Limits{MaxTokens: total - len(got), Stop: stop})
			if err != nil {
				t.Fatal(err)
			}
			if drafter.flaw == 0 && !random && r.Accepted != min(depth, len(r.Tokens)) {
				t.Fatalf("a perfect drafter had %d of %d accepted", r.Accepted, depth)
			}
			for i := range r.Accepted {
				if r.Tokens[i].ID != rows[i].Draft {
					t.Fatalf("accepted token %d is not the draft", i)
				}
			}
			if last := len(r.Tokens) - 1; r.Accepted < last {
				t.Fatalf("%d tokens with %d accepted", len(r.Tokens), r.Accepted)
			}
			for _, tok := range r.Tokens {
				prefix = append(prefix, tok.ID)
			}
			got = append(got, r.Tokens...)
			reason = r.Reason
			if r.Stopped != (reason != ReasonNone) {
				t.Fatalf("stopped %v with reason %v", r.Stopped, reason)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("tokens (-sequential +speculated):\n%s", diff)
		}
		if reason != wantReason {
			t.Fatalf("reason %v, want %v", reason, wantReason)
		}
		fresh := sample.NewHistory(prompt, p)
		for _, tok := range got {
			fresh.Push(tok.ID)
		}
		for id := range int32(vocab) {
			if h.Count(id) != fresh.Count(id) {
				t.Fatalf("history counts id %d %d times, want %d", id, h.Count(id), fresh.Count(id))
			}
		}
	})
}

func TestEnds(t *testing.T) {
	p := sample.Params{TopP: 1, Repetition: 1}
	v := sample.NewVocab(10, nil)
	row := func(best, draft int32) Row {
		l := make([]float32, 10)
		l[best] = 1
		return Row{Logits: l, Draft: draft, Q: &sample.Dist{IDs: []int32{max(draft, 0)}, P: []float64{1}}}
	}
	stop9 := func(id int32) bool { return id == 9 }
	for _, c := range []struct {
		name     string
		rows     []Row
		lim      Limits
		want     []int32
		accepted int
		reason   Reason
	}{
		{"all accepted and one more", []Row{row(1, 1), row(2, 2), row(3, NoDraft)}, Limits{MaxTokens: 9}, []int32{1, 2, 3}, 2, ReasonNone},
		{"first rejected", []Row{row(1, 5), row(2, 2), row(3, NoDraft)}, Limits{MaxTokens: 9}, []int32{1}, 0, ReasonNone},
		{"second rejected", []Row{row(1, 1), row(2, 5), row(3, NoDraft)}, Limits{MaxTokens: 9}, []int32{1, 2}, 1, ReasonNone},
		{"no draft", []Row{row(4, NoDraft)}, Limits{MaxTokens: 9}, []int32{4}, 0, ReasonNone},
		{"a row without draft ends early", []Row{row(1, 1), row(2, NoDraft), row(3, 3)}, Limits{MaxTokens: 9}, []int32{1, 2}, 1, ReasonNone},
		{"limit inside", []Row{row(1, 1), row(2, 2), row(3, NoDraft)}, Limits{MaxTokens: 2}, []int32{1, 2}, 2, ReasonLength},
		{"limit at the last row", []Row{row(1, 1), row(2, NoDraft)}, Limits{MaxTokens: 2}, []int32{1, 2}, 1, ReasonLength},
		{"stop id as draft", []Row{row(1, 1), row(9, 9), row(3, NoDraft)}, Limits{MaxTokens: 9, Stop: stop9}, []int32{1, 9}, 2, ReasonStop},
		{"stop id not drafted", []Row{row(9, 1), row(2, 2), row(3, NoDraft)}, Limits{MaxTokens: 9, Stop: stop9}, []int32{9}, 0, ReasonStop},
		{"stop id at the limit is a stop", []Row{row(9, 9), row(2, NoDraft)}, Limits{MaxTokens: 1, Stop: stop9}, []int32{9}, 1, ReasonStop},
	} {
		for _, rule := range []Rule{Coupled, Residual} { // at temperature 0 they are one
			got, err := Accept(rule, sample.New(p, v), nil, 4, c.rows, c.lim)
			if err != nil {
				t.Errorf("%s, %v: %v", c.name, rule, err)
				continue
			}
			want := Result{Accepted: c.accepted, Reason: c.reason, Stopped: c.reason != ReasonNone}
			for _, id := range c.want {
				want.Tokens = append(want.Tokens, sample.Token{ID: id})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %v (-want +got):\n%s", c.name, rule, diff)
			}
		}
	}
}

func TestErrorsLeaveTheHistory(t *testing.T) {
	p := sample.Params{Temperature: 1, TopP: 1, Repetition: 1, Frequency: 1}
	v := sample.NewVocab(10, nil)
	good := make([]float32, 10)
	good[3] = 1000
	bad := slices.Clone(good)
	bad[8] = float32(math.NaN())
	q := &sample.Dist{IDs: []int32{3}, P: []float64{1}}
	lim := Limits{MaxTokens: 5}
	for _, c := range []struct {
		name string
		rule Rule
		rows []Row
		lim  Limits
		want error
	}{
		{"no rows", Coupled, nil, lim, ErrArguments},
		{"no tokens left", Coupled, []Row{{Logits: good, Draft: NoDraft}}, Limits{}, ErrArguments},
		{"no such rule", Rule(7), []Row{{Logits: good, Draft: NoDraft}}, lim, ErrRule},
		{"NaN in the second row", Coupled, []Row{{Logits: good, Draft: 3}, {Logits: bad, Draft: NoDraft}}, lim, sample.ErrNotFinite},
		{"NaN in the second row", Residual, []Row{{Logits: good, Draft: 3, Q: q}, {Logits: bad, Draft: NoDraft}}, lim, sample.ErrNotFinite},
		{"draft without distribution", Residual, []Row{{Logits: good, Draft: 3, Q: q}, {Logits: good, Draft: 3}}, lim, ErrDraft},
		{"draft outside its distribution", Residual, []Row{{Logits: good, Draft: 4, Q: q}}, lim, ErrDraft},
	} {
		h := sample.NewHistory(nil, p)
		h.Push(3)
		r, err := Accept(c.rule, sample.New(p, v), h, 4, c.rows, c.lim)
		if !errors.Is(err, c.want) {
			t.Errorf("%s, %v: error %v, want %v", c.name, c.rule, err, c.want)
		}
		if h.Count(3) != 1 || h.Distinct() != 1 {
			t.Errorf("%s, %v: the history holds %d ids, id 3 %d times; want it untouched", c.name, c.rule, h.Distinct(), h.Count(3))
		}
		if len(r.Tokens) != 0 {
			t.Errorf("%s, %v: tokens %v with an error", c.name, c.rule, r.Tokens)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, rule := range []Rule{Coupled, Residual} {
		if got, err := ParseRule(rule.String()); err != nil || got != rule {
			t.Errorf("ParseRule(%q) = %v, %v", rule.String(), got, err)
		}
	}
	if _, err := ParseRule("lossy"); !errors.Is(err, ErrRule) {
		t.Errorf("ParseRule(lossy): error %v, want ErrRule", err)
	}
}

func TestStats(t *testing.T) {
	var a, b Stats
	a.Observe(3, Result{Tokens: make([]sample.Token, 4), Accepted: 3}) // all, and one more
	a.Observe(3, Result{Tokens: make([]sample.Token, 2), Accepted: 1}) // the second rejected
	b.Observe(3, Result{Tokens: make([]sample.Token, 1), Accepted: 1}) // the first accepted, then a stop
	b.Observe(0, Result{Tokens: make([]sample.Token, 1)})
	a.Merge(b)
	want := Stats{Rounds: 4, Emitted: 8, Drafted: [MaxDepth]uint64{3, 3, 3}, Judged: [MaxDepth]uint64{3, 2, 1}, Accepted: [MaxDepth]uint64{3, 1, 1}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if a.Rate(1) != 0.5 || a.Rate(5) != 0 || a.TokensPerRound() != 2 {
		t.Errorf("rate %v, rate of a depth never drafted %v, tokens per round %v; want 0.5, 0, 2", a.Rate(1), a.Rate(5), a.TokensPerRound())
	}
}
