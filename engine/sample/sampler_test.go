package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomParams covers every step, alone and together, with its edge values.
func randomParams(r *rand.Rand, size int) Params {
	pick := func(xs ...float64) float64 { return xs[r.IntN(len(xs))] }
	p := Params{
		Temperature: pick(0, 1, 1, 0.7, 2, 1e-3, 1e-300, 100),
		TopK:        int(pick(0, 0, 1, 2, 5, 20, 64, 65, 100, float64(size), float64(size)+5)),
		TopP:        pick(1, 1, 0.95, 0.5, 1e-9, 0.999999, 5e-324),
		MinP:        pick(0, 0, 0.05, 1, 1e-12, 5e-324),
		Presence:    pick(0, 0, 1.5, -2),
		Frequency:   pick(0, 0, 0.3, -1),
		Repetition:  pick(1, 1, 1.2, 0.5, 1e30, 5e-324),
		Seed:        r.Uint64(),
		Choice:      uint32(r.IntN(3)),
	}
	for range r.IntN(4) {
		b := Bias{int32(r.IntN(size)), float32(pick(-100, 100, 1.5, -0.25))}
		if !slices.ContainsFunc(p.Bias, func(o Bias) bool { return o.ID == b.ID }) {
			p.Bias = append(p.Bias, b)
		}
	}
	return p
}

func randomVocab(r *rand.Rand, size int) *Vocab {
	switch r.IntN(3) {
	case 0:
		return NewVocab(size, nil)
	case 1: // padded tail
		return NewVocab(size, func(id int32) bool { return int(id) < size-size/5 })
	}
	return NewVocab(size, func(id int32) bool { return id%7 != 3 && int(id) < size-1 || id == 0 })
}

// TestAgainstTwin: token, candidates and probabilities equal the naive twin's, for random rows, vocabularies, parameters, histories and bitsets.
func TestAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	empty := 0
	for trial := range 6000 {
		size := []int{1, 2, 9, 64, 65, 311, 700}[r.IntN(7)]
		v := randomVocab(r, size)
		p := randomParams(r, size)
		p.Bias = slices.DeleteFunc(p.Bias, func(b Bias) bool { return !v.Known(b.ID) })
		row := gaussianRow(r, size, []float64{0, 0.1, 3, 30, 1e37}[r.IntN(5)])
		if r.IntN(10) == 0 { // both zeros are one value
			row[0], row[size-1] = 0, float32(math.Copysign(0, -1))
		}
		var prompt, output []int32
		h := func() *History {
			for range r.IntN(20) {
				prompt = append(prompt, int32(r.IntN(size)))
			}
			h := NewHistory(prompt, p)
			for range r.IntN(20) {
				output = append(output, int32(r.IntN(size)))
				h.Push(output[len(output)-1])
			}
			return h
		}()
		var allow []uint64
		if r.IntN(3) == 0 {
			allow = make([]uint64, v.Words())
			for i := range allow {
				allow[i] = []uint64{0, math.MaxUint64, r.Uint64(), r.Uint64() & r.Uint64() & r.Uint64()}[r.IntN(4)]
			}
		}
		pos := r.IntN(1 << 20)
		before := slices.Clone(row)
		s := New(p, v)

		cands := twinFilter(p, v, row, prompt, output, allow)
		got, err := s.SampleAllowed(row, pos, h, allow)
		if len(cands) == 0 {
			empty++
			if !errors.Is(err, ErrNoCandidate) {
				t.Fatalf("trial %d: %+v: error %v, want ErrNoCandidate", trial, p, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("trial %d: %+v: %v", trial, p, err)
		}
		if want := twinSample(p, cands, pos); got.ID != want {
			t.Fatalf("trial %d: size %d, %+v: token %d, want %d", trial, size, p, got.ID, want)
		}
		d, err := s.DistAllowed(row, pos, h, allow)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(cands, func(a, b candidate) int { return int(a.id - b.id) })
		var want []int32
		sum := 0.0
		for _, c := range cands {
			want = append(want, c.id)
			sum += math.Exp(c.z)
		}
		if diff := cmp.Diff(want, d.IDs); diff != "" {
			t.Fatalf("trial %d: size %d, %+v: candidates (-want +got):\n%s", trial, size, p, diff)
		}
		for i, c := range cands {
			if want := math.Exp(c.z) / sum; math.Abs(d.P[i]-want) > 1e-12 {
				t.Fatalf("trial %d: %+v: p(%d) = %v, want %v", trial, p, c.id, d.P[i], want)
			}
		}
		if again, _ := s.SampleAllowed(row, pos, h, allow); again.ID != got.ID {
			t.Fatalf("trial %d: the second call gave %d, the first %d", trial, again.ID, got.ID)
		}
		if !slices.EqualFunc(row, before, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Fatalf("trial %d: the row was changed", trial)
		}
	}
	if empty == 0 {
		t.Error("no trial had an empty candidate set: the generator is too tame")
	}
}

// TestFullScanAgainstTwin runs the bounded race over a whole real-sized vocabulary, flat and peaked.
func TestFullScanAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	v := NewVocab(8192, nil)
	for trial := range 60 {
		row := gaussianRow(r, 8192, []float64{0, 1e-9, 1, 4, 15}[trial%5])
		p := Defaults()
		p.Seed = r.Uint64()
		p.Temperature = []float64{1, 0.3, 3}[trial%3]
		got, err := New(p, v).Sample(row, trial, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := twinSample(p, twinFilter(p, v, row, nil, nil, nil), trial); got.ID != want {
			t.Errorf("trial %d: token %d, want %d", trial, got.ID, want)
		}
	}
}

func TestSteps(t *testing.T) {
	off := Params{TopP: 1, Repetition: 1}
	with := func(f func(*Params)) Params { p := off; f(&p); return p }
	l := func(ps ...float64) []float32 { // logits of the given probabilities
		row := make([]float32, len(ps))
		for i, p := range ps {
			row[i] = float32(math.Log(p))
		}
		return row
	}
	for _, c := range []struct {
		name           string
		p              Params
		row            []float32
		prompt, output []int32
		want           []int32 // candidates
	}{
		{"argmax, lowest id of equals", off, []float32{1, 3, 3, 2}, nil, nil, []int32{1}},
		{"bias moves the argmax", with(func(p *Params) { p.Bias = []Bias{{3, 1.5}} }), []float32{1, 3, 3, 2}, nil, nil, []int32{3}},
		{"repetition divides a positive prompt token", with(func(p *Params) { p.Repetition = 2 }), []float32{1, 3, 2, 0}, []int32{1}, nil, []int32{2}},
		{"repetition multiplies a negative one", with(func(p *Params) { p.Repetition = 2 }), []float32{-1, -3, -1.5, -4}, []int32{0}, nil, []int32{2}},
		{"presence ignores the prompt", with(func(p *Params) { p.Presence = 2 }), []float32{1, 3, 2, 0}, []int32{1}, nil, []int32{1}},
		{"presence counts once", with(func(p *Params) { p.Presence = 0.75 }), []float32{1, 3, 2, 0}, nil, []int32{1, 1, 1}, []int32{1}},
		{"frequency counts each", with(func(p *Params) { p.Frequency = 0.75 }), []float32{1, 3, 2, 0}, nil, []int32{1, 1}, []int32{2}},
		{"bias comes before repetition", with(func(p *Params) { p.Repetition = 4; p.Bias = []Bias{{1, 4}} }), []float32{1.5, -1, 0, 0}, []int32{1}, nil, []int32{0}},
		{"top-k keeps the lowest id of boundary equals", with(func(p *Params) { p.Temperature = 1; p.TopK = 2 }), []float32{1, 2, 1, 1}, nil, nil, []int32{0, 1}},
		{"top-p keeps the token that crosses", with(func(p *Params) { p.Temperature = 1; p.TopP = 0.7 }), l(.1, .5, .3, .1), nil, nil, []int32{1, 2}},
		{"top-p is over the rest of top-k", with(func(p *Params) { p.Temperature = 1; p.TopK = 2; p.TopP = 0.6 }), l(.1, .5, .3, .1), nil, nil, []int32{1}},
		{"top-p sees the temperature", with(func(p *Params) { p.Temperature = 100; p.TopP = 0.6 }), l(.1, .5, .3, .1), nil, nil, []int32{0, 1, 2}},
		{"min-p is relative to the first", with(func(p *Params) { p.Temperature = 1; p.MinP = 0.55 }), l(.1, .5, .3, .1), nil, nil, []int32{1, 2}},
		{"min-p 1 keeps equals of the first", with(func(p *Params) { p.Temperature = 1; p.MinP = 1 }), []float32{2, 1, 2}, nil, nil, []int32{0, 2}},
	} {
		h := NewHistory(c.prompt, c.p)
		for _, id := range c.output {
			h.Push(id)
		}
		d, err := New(c.p, NewVocab(len(c.row), nil)).Dist(c.row, 0, h)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, d.IDs); diff != "" {
			t.Errorf("%s: candidates (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestLogprobs(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	const size = 300
	for trial := range 200 {
		v := randomVocab(r, size)
		row := gaussianRow(r, size, 4)
		p := randomParams(r, size)
		p.Bias = slices.DeleteFunc(p.Bias, func(b Bias) bool { return !v.Known(b.ID) })
		p.Logprobs, p.TopLogprobs = true, trial%(MaxTopLogprobs+1)
		tok, err := New(p, v).Sample(row, trial, NewHistory([]int32{1, 2, 3}, p))
		if err != nil {
			t.Fatal(err)
		}
		if want := twinLogprob(v, row, tok.ID); math.Abs(tok.Logprob-want) > 1e-11 {
			t.Fatalf("trial %d: logprob %v, want %v: not the raw row's", trial, tok.Logprob, want)
		}
		greedy := twinFilter(Params{Temperature: 1, TopP: 1, Repetition: 1}, v, row, nil, nil, nil)
		if len(tok.Top) != p.TopLogprobs {
			t.Fatalf("trial %d: %d entries, want %d", trial, len(tok.Top), p.TopLogprobs)
		}
		for i, e := range tok.Top {
			if e.ID != greedy[i].id {
				t.Fatalf("trial %d: entry %d is id %d, want %d", trial, i, e.ID, greedy[i].id)
			}
			if e.ID == tok.ID && e.Logprob != tok.Logprob {
				t.Fatalf("trial %d: entry %v and the token's own %v differ", trial, e.Logprob, tok.Logprob)
			}
			if want := twinLogprob(v, row, e.ID); math.Abs(e.Logprob-want) > 1e-11 {
				t.Fatalf("trial %d: entry %d: %v, want %v", trial, i, e.Logprob, want)
			}
		}
		desc, err := New(p, v).Describe(row, trial, tok.ID)
		if diff := cmp.Diff(tok, desc); err != nil || diff != "" {
			t.Fatalf("Describe: %v (-sample +describe):\n%s", err, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	v := NewVocab(100, func(id int32) bool { return id < 90 })
	row := func(at int, x float64) []float32 {
		r := make([]float32, 100)
		if at >= 0 {
			r[at] = float32(x)
		}
		return r
	}
	pen := Defaults()
	pen.Repetition = 1.1
	freq := Defaults()
	freq.Frequency = 1
	for _, c := range []struct {
		name  string
		p     Params
		row   []float32
		h     *History
		allow []uint64
		want  error
	}{
		{"NaN", Defaults(), row(3, math.NaN()), nil, nil, ErrNotFinite},
		{"+Inf", Defaults(), row(99, math.Inf(1)), nil, nil, ErrNotFinite},
		{"-Inf", Defaults(), row(0, math.Inf(-1)), nil, nil, ErrNotFinite},
		{"largest finite", Defaults(), row(0, math.MaxFloat32), nil, nil, nil},
		{"short row", Defaults(), row(-1, 0)[:99], nil, nil, ErrRow},
		{"short bitset", Defaults(), row(-1, 0), nil, []uint64{1}, ErrRow},
		{"nothing allowed", Defaults(), row(-1, 0), nil, []uint64{0, 0}, ErrNoCandidate},
		{"only unknown ids allowed", Defaults(), row(-1, 0), nil, []uint64{0, 1 << (95 - 64)}, ErrNoCandidate},
		{"penalty, nil history", pen, row(-1, 0), nil, nil, ErrNoHistory},
		{"penalty, history of a request without", pen, row(-1, 0), NewHistory(nil, Defaults()), nil, ErrNoHistory},
		{"repetition, history that lacks the prompt", pen, row(-1, 0), NewHistory([]int32{1}, freq), nil, ErrNoHistory},
	} {
		s := New(c.p, v)
		if _, err := s.SampleAllowed(c.row, 7, c.h, c.allow); !errors.Is(err, c.want) {
			t.Errorf("%s: Sample: error %v, want %v", c.name, err, c.want)
		}
		if _, err := s.DistAllowed(c.row, 7, c.h, c.allow); !errors.Is(err, c.want) {
			t.Errorf("%s: Dist: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := New(Defaults(), v).Describe(row(-1, 0), 0, 95); !errors.Is(err, ErrNoCandidate) {
		t.Errorf("Describe of an unknown id: error %v, want ErrNoCandidate", err)
	}
}

// TestEqualRunsFromClones: a clone, and a sampler that did other work before, give the same tokens.
func TestEqualRunsFromClones(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	v := NewVocab(500, nil)
	p := Params{Temperature: 1, TopK: 100, TopP: 0.9, MinP: 0.01, Repetition: 1, Seed: 5}
	a := New(p, v)
	b := a.Clone()
	for pos := range 200 {
		row := gaussianRow(r, 500, 3)
		if pos%3 == 0 {
			if _, err := b.Sample(gaussianRow(r, 500, 9), r.IntN(99), nil); err != nil {
				t.Fatal(err)
			}
		}
		x, _ := a.Sample(row, pos, nil)
		y, _ := b.Sample(row, pos, nil)
		if x.ID != y.ID {
			t.Fatalf("position %d: %d and %d", pos, x.ID, y.ID)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	v := NewVocab(4096, func(id int32) bool { return id != 17 })
	row := gaussianRow(r, 4096, 3)
	allow := make([]uint64, v.Words())
	for i := range allow {
		allow[i] = r.Uint64()
	}
	for name, p := range map[string]Params{
		"greedy":     {TopP: 1, Repetition: 1},
		"full":       {Temperature: 1, TopP: 1, Repetition: 1},
		"everything": {Temperature: 0.8, TopK: 200, TopP: 0.95, MinP: 0.01, Presence: 1, Frequency: 0.1, Repetition: 1.1, Bias: []Bias{{1, 2}}, Logprobs: true},
		"small k":    {Temperature: 0.8, TopK: 20, TopP: 0.95, Repetition: 1},
	} {
		s := New(p, v)
		h := NewHistory([]int32{1, 2, 3}, p)
		pos := 0
		step := func() {
			for _, id := range []int32{4, 5, 4} {
				h.Push(id)
			}
			if _, err := s.SampleAllowed(row, pos, h, allow); err != nil {
				t.Fatal(err)
			}
			if _, err := s.DistAllowed(row, pos, h, nil); err != nil {
				t.Fatal(err)
			}
			for _, id := range []int32{4, 5, 4} {
				h.Pop(id)
			}
			pos++
		}
		if got := testing.AllocsPerRun(50, step); got != 0 {
			t.Errorf("%s: %v allocations per call, want 0", name, got)
		}
	}
}
