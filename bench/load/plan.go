package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/prompt"
)

// Spec is a load that is wanted.
type Spec struct {
	Requests int
	Prompt   Law // templated tokens
	Output   Law
	Shared   float64 // share of each prompt that all prompts have in common, from the beginning
	Seed     uint64  // of everything that is drawn
	Ask      client.Ask
}

// Request is one planned request.
type Request struct {
	Ask    client.Ask
	Prompt int // templated tokens
	Due    time.Duration
}

// Plan draws the requests. One that does not fit the context is an error before anything is sent.
func Plan(ctx context.Context, c *client.Client, s Spec, limit int) ([]Request, error) {
	if s.Requests < 1 {
		return nil, fmt.Errorf("load: requests: got %d, want at least 1", s.Requests)
	}
	lengths := rand.New(rand.NewPCG(s.Seed, 1))
	count := func(ctx context.Context, text string) (int, error) { return c.Count(ctx, text, s.Ask.NoThink) }
	out := make([]Request, s.Requests)
	for i := range out {
		r := &out[i]
		r.Ask, r.Prompt = s.Ask, s.Prompt.Draw(lengths)
		r.Ask.MaxTokens = s.Output.Draw(lengths)
		r.Ask.Seed = s.Seed + uint64(i)
		if err := Fits(r.Prompt, r.Ask.MaxTokens, limit); err != nil {
			return nil, fmt.Errorf("load: request %d: %w", i+1, err)
		}
		var err error
		r.Ask.Text, err = prompt.Make(ctx, count, prompt.Spec{Tokens: r.Prompt, Seed: r.Ask.Seed, Shared: s.Shared, Common: s.Seed})
		if err != nil {
			return nil, fmt.Errorf("load: request %d: %w", i+1, err)
		}
	}
	return out, nil
}

// Fits says why a prompt and its answer do not fit a context of limit positions.
func Fits(prompt, output, limit int) error {
	if prompt+output > limit {
		return fmt.Errorf("a prompt of %d and an answer of %d tokens are %d, and the served context holds %d: ask for less (--prompt, --output), or serve a larger --context",
			prompt, output, prompt+output, limit)
	}
	return nil
}

// The rates that can be kept and told: less is no load, more is closer together than a clock can tell. No report can hold an infinite one.
const (
	leastRate = 1e-3
	mostRate  = 1e6
)

// CheckRate says why requests cannot be sent at a rate, in requests per second.
func CheckRate(rate float64) error {
	if !(rate >= leastRate && rate <= mostRate) {
		return fmt.Errorf("got %g requests a second, want %g to %g", rate, leastRate, mostRate)
	}
	return nil
}

// Poisson sets the times at which requests are due: a Poisson process of rate requests per second.
func Poisson(plan []Request, rate float64, seed uint64) error {
	if err := CheckRate(rate); err != nil {
		return fmt.Errorf("load: rate: %w", err)
	}
	r := rand.New(rand.NewPCG(seed, 2))
	at := 0.0
	for i := range plan {
		at += r.ExpFloat64() / rate
		plan[i].Due = time.Duration(at * float64(time.Second))
	}
	return nil
}
