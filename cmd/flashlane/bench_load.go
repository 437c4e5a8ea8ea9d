package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flashlane/flashlane/bench/load"
	"github.com/flashlane/flashlane/bench/report"
)

type benchLoad struct {
	benchFlags
	Clients  []int         `help:"Closed loop: clients at once; several numbers are measured one after the other." placeholder:"N,..."`
	Rate     []float64     `help:"Open loop: requests per second, at random times (Poisson); several may be given." placeholder:"R,..."`
	Requests int           `help:"Requests per load; 0 is 4 per client, at least 32." default:"0"`
	Prompt   string        `help:"Prompt lengths in templated tokens: N, uniform:FROM-TO or lognormal:MEDIAN,SIGMA,MOST." default:"256"`
	Output   string        `help:"Most tokens of an answer, in the same forms." default:"128"`
	Shared   float64       `name:"prefix-shared" help:"Share (0 to 1) of each prompt, from its beginning, that all prompts have in common." default:"0"`
	Long     int           `name:"long-prompt" help:"Also: a prompt of so many tokens arrives while --streams streams run." placeholder:"TOKENS"`
	Streams  int           `help:"Running streams for --long-prompt." default:"4"`
	Settle   time.Duration `help:"How long the streams run before the long prompt arrives." default:"2s"`
}

// Run measures every load, one after the other, on one server.
func (c benchLoad) Run(ctx context.Context, k *kong.Context) error {
	if err := c.check(k); err != nil {
		return err
	}
	prompt, err := load.ParseLaw(c.Prompt)
	if err != nil {
		return fmt.Errorf("--prompt: %w", err)
	}
	output, err := load.ParseLaw(c.Output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if len(c.Clients)+len(c.Rate) == 0 && c.Long == 0 {
		c.Clients = []int{1}
	}
	most := c.Streams + 1
	for _, n := range c.Clients {
		most = max(most, n)
	}
	begin := uint64(1)
	if c.Seed != nil {
		begin = uint64(*c.Seed)
	}
	r := &load.Report{Setup: c.setup(), Seed: begin, Prompt: prompt.String(), Output: output.String(), Shared: c.Shared}
	t, err := c.open(ctx, most)
	if err != nil {
		return err
	}
	r.Model, r.Device, r.Precision, r.Slots, r.Ask = t.health.Model, t.health.DeviceKind, t.health.Precision, t.health.Slots, c.sampling(t)
	spec := load.Spec{Prompt: prompt, Output: output, Shared: c.Shared, Seed: begin, Ask: c.ask(t)}
	if err := errors.Join(c.measure(ctx, t, spec, r), t.leave()); err != nil {
		return err
	}
	return c.finish(r)
}

// check refuses, before anything is started, what cannot be run or would be ignored.
func (c benchLoad) check(k *kong.Context) error {
	if c.Long == 0 {
		if err := unused(k, "it is of --long-prompt, which is not given", "streams", "settle"); err != nil {
			return err
		}
	} else if len(c.Clients)+len(c.Rate) == 0 {
		if err := unused(k, "it is of --clients and --rate, which are not given", "requests"); err != nil {
			return err
		}
	}
	for _, n := range c.Clients {
		if n < 1 || c.Requests > 0 && n > c.Requests {
			return fmt.Errorf("--clients: got %d, want at least 1, and at most as many as --requests says", n)
		}
	}
	for _, r := range c.Rate {
		if err := load.CheckRate(r); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
	}
	switch {
	case c.Requests < 0:
		return fmt.Errorf("--requests: got %d, want 0 (4 per client, at least 32) or more", c.Requests)
	case !(c.Shared >= 0 && c.Shared <= 1):
		return fmt.Errorf("--prefix-shared: got %g, want 0 to 1", c.Shared)
	case c.Long < 0 || c.Streams < 1 || c.Streams > 64 || c.Settle < 0:
		return fmt.Errorf("--long-prompt %d, --streams %d, --settle %v: want 0 or more, 1 to 64, and 0 or more", c.Long, c.Streams, c.Settle)
	}
	return c.benchFlags.check(k)
}

func (c benchLoad) finish(r *load.Report) error {
	svg, err := r.Chart()
	if err != nil {
		return err
	}
	if err := c.give(report.Files{Markdown: r.Markdown(), JSON: r, SVG: svg}); err != nil {
		return err
	}
	for _, s := range r.Results {
		if s.Finished < s.Requests {
			return fmt.Errorf("%s: %d of %d requests did not finish: %s", s.Name, s.Requests-s.Finished, s.Requests, s.ErrorLine())
		}
	}
	return nil
}

// longAnswer is how many tokens the answer to --long-prompt has: its first text is what is measured.
const longAnswer = 2

func (c benchLoad) measure(ctx context.Context, t *target, spec load.Spec, r *load.Report) error {
	if c.Long > 0 {
		if err := load.Fits(c.Long, longAnswer, t.health.Context); err != nil {
			return fmt.Errorf("--long-prompt: %w", err)
		}
	}
	// Every load gets prompts of its own, or the second one would find the first one's in the prefix cache.
	base, begun := spec.Seed, uint64(0)
	plan := func(requests, clients int) ([]load.Request, error) {
		if spec.Requests = requests; requests == 0 {
			spec.Requests = max(32, 4*clients)
		}
		spec.Seed = base + begun<<20
		begun++
		settle()
		return load.Plan(ctx, t.client, spec, t.health.Context)
	}
	warm, err := plan(2, 1)
	if err != nil {
		return err
	}
	if _, err := load.Closed(ctx, t.client, warm, 1); err != nil {
		return err
	}
	take := func(run *load.Run, err error) error {
		if err != nil {
			return err
		}
		s := run.Result()
		r.Results = append(r.Results, s)
		fmt.Fprintf(os.Stderr, "%s: %d of %d finished in %.1f s, %.0f tok/s\n", s.Name, s.Finished, s.Requests, s.Wall, s.Total)
		return nil
	}
	for _, n := range c.Clients {
		p, err := plan(c.Requests, n)
		if err != nil {
			return err
		}
		if err := take(load.Closed(ctx, t.client, p, n)); err != nil {
			return err
		}
	}
	for _, rate := range c.Rate {
		p, err := plan(c.Requests, 1)
		if err != nil {
			return err
		}
		if err := load.Poisson(p, rate, spec.Seed); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		if err := take(load.Open(ctx, t.client, p, rate)); err != nil {
			return err
		}
	}
	if c.Long == 0 {
		return nil
	}
	streams, err := plan(64, c.Streams)
	if err != nil {
		return err
	}
	spec.Prompt, spec.Output, spec.Shared = load.Fixed(c.Long), load.Fixed(longAnswer), 0
	long, err := plan(1, 1)
	if err != nil {
		return fmt.Errorf("--long-prompt: %w", err)
	}
	r.Arrival, err = load.LongPrompt(ctx, t.client, streams, &long[0], c.Streams, c.Settle)
	return err
}
