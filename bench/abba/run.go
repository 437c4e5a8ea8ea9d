package abba

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flashlane/flashlane/bench/busy"
	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/load"
	"github.com/flashlane/flashlane/bench/prompt"
)

// ErrDigest is wrapped when arms did not give the same text, or gave none to compare.
var ErrDigest = errors.New("abba: digests")

// Seeds are those that the lanes' first measurements used.
var Seeds = []uint64{20260829, 20260830, 20260831}

// Spec is a run.
type Spec struct {
	Arms     []Arm
	Order    []int // of arms; nil: Mirror
	Seeds    []uint64
	Prompt   int           // templated tokens
	Output   int           // most tokens of an answer
	Requests int           // per window, of different prompts; 0: 1
	Warm     int           // windows of the control before each seed's first that are thrown away; in arms with a server of their own, before each window
	Quiet    float64       // measure a window again in which other processes or guests took more than this share of the machine; 0: never
	Retries  int           // at most so often
	Patience time.Duration // how long to wait, before each try, for the machine to be that quiet
	Ask      client.Ask
	Differ   bool              // digests may differ between arms, because the setting is one that changes the text
	Cold     bool              // windows must read n-gram rows from disk
	Before   func() error      // called before each window, for instance to collect garbage
	Log      func(line string) // told of progress
}

// ask is a planned request.
type ask struct {
	client.Ask
	tokens int
}

// Run is what was measured.
type Run struct {
	Arms    []Arm
	Order   []int
	Prompt  int
	Output  int
	Quiet   float64
	Cold    bool
	Windows []Window
	Health  []client.Health // of the server of each arm, before the first window
}

// Measure runs all windows. c serves those arms that have no server of their own, and counts the prompts' tokens.
func Measure(ctx context.Context, c *client.Client, s Spec) (*Run, error) {
	if s.Order == nil {
		s.Order = Mirror(len(s.Arms))
	}
	if s.Requests == 0 {
		s.Requests = 1
	}
	if s.Log == nil {
		s.Log = func(string) {}
	}
	r := &Run{Arms: s.Arms, Order: s.Order, Prompt: s.Prompt, Output: s.Output, Quiet: s.Quiet, Cold: s.Cold}
	if err := s.Check(); err != nil {
		return nil, err
	}
	// Every arm is tried before the first window: one that cannot be had would else end the run after the windows of another.
	for n := range s.Arms {
		err := enter(ctx, c, &s.Arms[n], func(c *client.Client) error { return s.try(ctx, c, r, n) })
		if err != nil {
			return nil, err
		}
	}
	asks := map[uint64][]ask{}
	err := enter(ctx, c, &s.Arms[0], func(c *client.Client) (err error) {
		for _, seed := range s.Seeds {
			if asks[seed], err = s.plan(ctx, c, seed); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, seed := range s.Seeds {
		for i, n := range s.Order {
			if err := s.window(ctx, c, r, asks[seed], seed, i, n); err != nil {
				return nil, fmt.Errorf("seed %d, window %d (%s): %w", seed, i+1, s.Arms[n].Name, err)
			}
		}
	}
	return r, r.checkDigests(s.Differ)
}

// try notes what serves arm n, and refuses an arm whose windows could not be valid there.
func (s *Spec) try(ctx context.Context, c *client.Client, r *Run, n int) error {
	arm := &s.Arms[n]
	h, err := c.Health(ctx)
	if err != nil {
		return err
	}
	r.Health = append(r.Health, h)
	if err := load.Fits(s.Prompt, s.Output, h.Context); err != nil {
		return fmt.Errorf("abba: arm %s: %w", arm.Name, err)
	}
	there, err := c.Lanes(ctx)
	if err != nil {
		return err
	}
	for _, name := range arm.lanes() {
		if l, ok := there[name]; !ok || arm.Lanes[name] && l.Status == "declined" {
			return fmt.Errorf("abba: arm %s wants lane %s %s, which the server cannot give: got %q, %s; leave the lane out, or serve with what it needs",
				arm.Name, name, onOff(arm.Lanes[name]), l.Status, l.Reason)
		}
	}
	return nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// window measures the i-th window of a seed, of arm n.
func (s *Spec) window(ctx context.Context, c *client.Client, r *Run, asks []ask, seed uint64, i, n int) error {
	arm := &s.Arms[n]
	return enter(ctx, c, arm, func(c *client.Client) error {
		warm := 0
		if arm.Enter != nil || i == 0 {
			warm = s.Warm
		}
		for round := range warm + 1 {
			w, err := s.quietly(ctx, c, arm, asks, round == warm)
			if err != nil {
				return err
			}
			word := "warm-up"
			if round == warm {
				w.Seed, w.arm, word = seed, n, arm.Name
				r.Windows = append(r.Windows, *w)
			}
			s.Log(fmt.Sprintf("seed %d %-9s prefill %.0f tok/s, decode %s tok/s, %d tokens (%s)", seed, word, w.Prefill, decode(w), w.Tokens, w.Finish))
		}
		return nil
	})
}

// quietly measures a window until the others leave the machine alone. What the window gave plays no part in that.
func (s *Spec) quietly(ctx context.Context, c *client.Client, arm *Arm, asks []ask, counts bool) (*Window, error) {
	for try := 1; ; try++ {
		if s.Quiet > 0 && counts {
			if err := busy.Await(ctx, s.Quiet, s.Patience); err != nil {
				return nil, err
			}
		}
		if s.Before != nil {
			if err := s.Before(); err != nil {
				return nil, err
			}
		}
		w, err := measure(ctx, c, arm, asks)
		if err != nil {
			return nil, err
		}
		if s.Cold && w.Cold == 0 {
			return nil, fmt.Errorf("%w: arm %s: no row came from disk: is the row cache larger than what the prompts ask for, or the table in memory?", ErrGuard, arm.Name)
		}
		w.Tries = try
		if !counts || s.Quiet <= 0 || w.Others <= s.Quiet || try > s.Retries {
			return w, nil
		}
		s.Log(fmt.Sprintf("%s again: others took %.0f %% of the machine", arm.Name, 100*w.Others))
	}
}

// Check refuses a run that could not be measured or judged.
func (s *Spec) Check() error {
	seen := map[uint64]bool{}
	for _, seed := range s.Seeds {
		if seen[seed] {
			return fmt.Errorf("abba: seed %d twice: a series of the same requests again is no evidence of its own; name different seeds", seed)
		}
		seen[seed] = true
	}
	switch {
	case len(s.Arms) < 2:
		return fmt.Errorf("abba: got %d arms, want a control and at least one more", len(s.Arms))
	case len(s.Seeds) == 0:
		return fmt.Errorf("abba: no seeds")
	case s.Prompt < 1 || s.Output < 2:
		return fmt.Errorf("abba: prompt of %d and output of %d tokens, want at least 1 and 2", s.Prompt, s.Output)
	case s.Requests < 0 || s.Warm < 0 || s.Retries < 0 || s.Patience < 0:
		return fmt.Errorf("abba: %d requests, %d warm-ups, %d retries, patience of %v: want none below 0", s.Requests, s.Warm, s.Retries, s.Patience)
	case !(s.Quiet >= 0 && s.Quiet <= 1):
		return fmt.Errorf("abba: quiet: got a share of %g, want 0 to 1", s.Quiet)
	}
	return nil
}

// enter gives fn the client of the arm's own server, if it has one.
func enter(ctx context.Context, c *client.Client, arm *Arm, fn func(*client.Client) error) error {
	if arm.Enter == nil {
		return fn(c)
	}
	own, leave, err := arm.Enter(ctx)
	if err != nil {
		return fmt.Errorf("abba: arm %s: %w", arm.Name, err)
	}
	return errors.Join(fn(own), leave())
}

// plan makes the requests of a seed's windows; all its windows ask the same.
func (s *Spec) plan(ctx context.Context, c *client.Client, seed uint64) (out []ask, err error) {
	count := func(ctx context.Context, text string) (int, error) { return c.Count(ctx, text, s.Ask.NoThink) }
	for i := range s.Requests {
		a := ask{Ask: s.Ask, tokens: s.Prompt}
		a.MaxTokens, a.Seed = s.Output, seed
		if a.Text, err = prompt.Make(ctx, count, prompt.Spec{Tokens: s.Prompt, Seed: seed + uint64(i)<<32}); err != nil {
			return nil, fmt.Errorf("abba: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// checkDigests compares every window with the first one of its seed, or, if arms may differ, of its seed and arm.
func (r *Run) checkDigests(differ bool) error {
	type key struct {
		seed uint64
		arm  string
	}
	first := map[key]*Window{}
	var wrong []error
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.TokensSHA == "" || w.ReasoningSHA == "" && w.TextSHA == "" {
			wrong = append(wrong, fmt.Errorf("%w: seed %d, %s: its texts are empty, which is evidence of nothing", ErrDigest, w.Seed, w.Arm))
			continue
		}
		k := key{seed: w.Seed}
		if differ {
			k.arm = w.Arm
		}
		f := first[k]
		if f == nil {
			first[k] = w
			continue
		}
		for _, d := range []struct{ name, got, want string }{
			{"tokens", w.TokensSHA, f.TokensSHA}, {"reasoning", w.ReasoningSHA, f.ReasoningSHA}, {"text", w.TextSHA, f.TextSHA},
		} {
			if d.got != d.want {
				wrong = append(wrong, fmt.Errorf("%w: seed %d: %s of %s differ from those of %s: got %s, want %s", ErrDigest, w.Seed, d.name, w.Arm, f.Arm, short(d.got), short(d.want)))
			}
		}
	}
	return errors.Join(wrong...)
}

func short(digest string) string {
	if digest == "" {
		return "(empty)"
	}
	return digest[:min(12, len(digest))]
}
