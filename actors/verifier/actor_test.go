package verifier

import (
	"context"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/actors/round"
)

func ticket(name string, prompt int) (*round.Ticket, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	return &round.Ticket{Request: name, Epoch: 1, Ctx: ctx, Settings: round.Settings{Prompt: prompt}}, cancel
}

func draft(name string, drafts int) Verify {
	t, _ := ticket(name, 0)
	return Verify{Ticket: t, Drafts: make([]int32, drafts)}
}

func prompt(name string, tokens, rows int) *prefill {
	t, _ := ticket(name, tokens)
	return &prefill{Prefill: Prefill{Ticket: t, Rows: rows}}
}

func names(batch []Verify) (out []string) {
	for _, v := range batch {
		out = append(out, v.Ticket.Request)
	}
	return out
}

// TestChunksEndAtAbsoluteMultiples: how a prompt is cut depends on positions only, and a chunk never mixes classes.
func TestChunksEndAtAbsoluteMultiples(t *testing.T) {
	cases := []struct {
		name         string
		prompt, rows int
		from, chunk  int
		want         int
	}{
		{"first", 100, 100, 0, 32, 32},
		{"from the middle of a chunk", 100, 100, 40, 32, 64},
		{"at a multiple", 100, 100, 64, 32, 96},
		{"the rest", 100, 100, 96, 32, 100},
		{"replay stops where the prompt ends", 70, 100, 64, 32, 70},
		{"replay goes on in the decode class", 70, 100, 70, 32, 96},
		{"chunk of one", 3, 3, 2, 1, 3},
	}
	for _, c := range cases {
		if got := prompt("p", c.prompt, c.rows).end(c.from, c.chunk); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestScheduleBatchesWhatFits(t *testing.T) {
	alone := draft("alone", 1)
	alone.Alone = true
	cases := []struct {
		name    string
		waiting []Verify
		want    [][]string
	}{
		{"both fit", []Verify{draft("a", 3), draft("b", 0)}, [][]string{{"a", "b"}}},
		{"two at most", []Verify{draft("a", 0), draft("b", 0), draft("c", 0)}, [][]string{{"a", "b"}, {"c"}}},
		{"rows run out", []Verify{draft("a", 3), draft("b", 3), draft("c", 0)}, [][]string{{"a", "b"}, {"c"}}},
		{"one that is too large runs by itself", []Verify{draft("a", 12), draft("b", 0)}, [][]string{{"a"}, {"b"}}},
		{"alone first", []Verify{alone, draft("b", 0)}, [][]string{{"alone"}, {"b"}}},
		{"alone later", []Verify{draft("a", 0), alone, draft("b", 0)}, [][]string{{"a"}, {"alone"}, {"b"}}},
	}
	for _, c := range cases {
		s := schedule{verify: c.waiting}
		var got [][]string
		for s.turn() == rounds {
			got = append(got, names(s.nextBatch(8, 2)))
		}
		if !slices.EqualFunc(got, c.want, func(a, b []string) bool { return slices.Equal(a, b) }) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestScheduleTakesTurns: drafts and prompts take turns, prompts among themselves too, and one whose drafter lags waits.
func TestScheduleTakesTurns(t *testing.T) {
	lagging := prompt("lagging", 9, 9)
	lagging.lag = 2
	s := schedule{verify: []Verify{draft("a", 7), draft("b", 7)}, prompts: []*prefill{lagging, prompt("p", 9, 9), prompt("q", 9, 9)}}
	var got []string
	for range 7 {
		switch s.turn() {
		case prompts:
			got = append(got, s.nextPrompt().Ticket.Request)
		case rounds:
			got = append(got, names(s.nextBatch(8, 8))...)
		}
	}
	if want := []string{"p", "a", "q", "b", "p", "q", "p"}; !slices.Equal(got, want) {
		t.Errorf("order: got %v, want %v", got, want)
	}
}

// TestChunksAreShortWhileOthersDecode: a long prompt must not hold up running streams.
func TestChunksAreShortWhileOthersDecode(t *testing.T) {
	s := schedule{chunk: 256, mixed: 32}
	p := prompt("p", 1000, 1000)
	var got []int
	cut := func() { s.cut(p, p.to); got = append(got, p.to) }
	cut() // nobody waits
	s.verify = []Verify{draft("a", 0)}
	cut() // a draft waits
	s.nextBatch(8, 8)
	cut() // a draft ran since
	cut() // nobody came
	if want := []int{256, 288, 320, 512}; !slices.Equal(got, want) {
		t.Errorf("chunk ends: got %v, want %v", got, want)
	}
}

func TestScheduleDropsTheDead(t *testing.T) {
	dead, kill := ticket("dead", 0)
	live, _ := ticket("live", 0)
	kill()
	busy := &prefill{Prefill: Prefill{Ticket: dead}, busy: true}
	idle := &prefill{Prefill: Prefill{Ticket: dead}}
	s := schedule{verify: []Verify{{Ticket: dead}, {Ticket: live}}, prompts: []*prefill{busy, idle}}
	verify, prompts := s.drop()
	if len(verify) != 1 || verify[0].Ticket != dead || len(s.verify) != 1 || s.verify[0].Ticket != live {
		t.Errorf("drafts: dropped %v, kept %v", names(verify), names(s.verify))
	}
	if len(prompts) != 1 || prompts[0] != idle || len(s.prompts) != 1 || s.prompts[0] != busy {
		t.Errorf("prompts: want the idle one dropped and the running one kept until its pass ends")
	}
}
