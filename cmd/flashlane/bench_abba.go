package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/bench/abba"
	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/report"
)

// turnFlags are what measurements by turns share.
type turnFlags struct {
	benchFlags
	Seeds    []seed        `help:"One series of windows per seed." default:"20260829,20260830,20260831"`
	Prompt   int           `help:"Prompt length in templated tokens." default:"16384"`
	Output   int           `help:"Most tokens of an answer." default:"1024"`
	Requests int           `help:"Requests per window, of different prompts." default:"1"`
	Warm     int           `help:"Windows of the control before each series that are thrown away: they load rows that all later ones find. With a fresh server per window: before each window." default:"1"`
	Quiet    float64       `help:"Measure a window again in which others took more than this share of the machine; 0 takes all as they are." default:"0.15"`
	Retries  int           `help:"Most times that a window is measured again." default:"5"`
	Patience time.Duration `help:"How long to wait before each try for the machine to be that quiet." default:"3s"`
	Adaptive bool          `name:"adaptive-depth" help:"Let rounds have less than the depth asked for where drafts do not pay. Else depth is fixed."`
}

// prepare sets what windows must be like: cold, and with the depth asked for.
func (f *turnFlags) prepare() {
	if f.Prefix == "" {
		f.Prefix = "0"
	}
	f.FixedDepth = !f.Adaptive
}

// check refuses, before anything is started, what would be ignored.
func (f turnFlags) check(k *kong.Context) error {
	if f.URL != "" {
		if err := unused(k, "it is of a server that is started for the measurement; it cannot be had from the one at --url", "adaptive-depth"); err != nil {
			return err
		}
	}
	if f.Quiet <= 0 {
		if err := unused(k, "with --quiet 0 no window is measured again", "retries", "patience"); err != nil {
			return err
		}
	}
	if f.Adaptive || !f.FixedDepth {
		if err := unused(k, "depth is fixed here unless --adaptive-depth is given: leave it out", "fixed-depth"); err != nil {
			return err
		}
	}
	if err := unused(k, "every request has one of --seeds: give those", "seed"); err != nil {
		return err
	}
	return f.benchFlags.check(k)
}

// overruled refuses a lane that is switched off at start, by flag or environment key, and that the arm puts on.
func (f houseFlags) overruled(arm *abba.Arm) error {
	s, err := lanes.Resolve(os.LookupEnv, f.Disable)
	if err != nil {
		return err
	}
	for _, l := range lanes.All() {
		if on, named := arm.Lanes[l.String()]; named && on && s.Disabled.Has(l) {
			return fmt.Errorf("--disable-optimization, or an environment key, switches lane %s off, and arm %s puts it on: leave one of them out", l, arm.Name)
		}
	}
	return nil
}

// plan is the run without the requests' settings, which the server has a say in.
func (f turnFlags) plan(arms []abba.Arm) abba.Spec {
	var seeds []uint64
	for _, s := range f.Seeds {
		seeds = append(seeds, uint64(s))
	}
	return abba.Spec{Arms: arms, Seeds: seeds, Prompt: f.Prompt, Output: f.Output, Requests: f.Requests, Warm: f.Warm,
		Quiet: f.Quiet, Retries: f.Retries, Patience: f.Patience,
		Log: func(line string) { fmt.Fprintln(os.Stderr, line) }, Before: settle}
}

// finish reports a run. Wrong digests are reported, too, and then fail the command.
func (f turnFlags) finish(title string, setup report.Setup, run *abba.Run, err error) error {
	if run == nil || err != nil && !errors.Is(err, abba.ErrDigest) {
		return err
	}
	r, failed := run.Result(err)
	if failed != nil {
		return errors.Join(err, failed)
	}
	svg, failed := r.Chart(title, setup)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, f.give(report.Files{Markdown: r.Markdown(title, setup), SVG: svg, JSON: struct {
		report.Setup
		*abba.Result
	}{setup, r}}))
}

type benchABBA struct {
	turnFlags
	coldFlags
	Lanes    []string `help:"Lanes to measure. Control has all of them off, a the first one on, b all of them. Default: ple_cached_aux,qsa_pooled_rowsel." placeholder:"LANE,..."`
	A        []string `name:"a" help:"Lanes that are on in arm a instead." placeholder:"LANE,..."`
	B        []string `name:"b" help:"Lanes that are on in arm b instead." placeholder:"LANE,..."`
	PLEModes bool     `name:"ple-modes" help:"Measure the ways of making PLE planes instead: control stock, then sync, async-raw and cached, each window in a fresh server."`
}

// Run measures control, a, b, b, a, control for every seed.
func (c benchABBA) Run(ctx context.Context, k *kong.Context) error {
	if err := errors.Join(c.turnFlags.check(k), c.coldFlags.check(&c.benchFlags)); err != nil {
		return err
	}
	c.prepare()
	setup := c.setup()
	if c.PLEModes {
		const why = "it does not go with --ple-modes, which measures the ways of making planes and no lanes"
		if err := unused(k, why, "cold", "lanes", "a", "b", "ple-mode"); err != nil {
			return err
		}
		return c.modes(ctx, setup)
	}
	if len(c.Lanes) == 0 {
		for _, l := range lanes.All() {
			c.Lanes = append(c.Lanes, l.String())
		}
	}
	for _, name := range c.Lanes {
		if _, err := lanes.Parse(name); err != nil {
			return fmt.Errorf("--lanes: %w", err)
		}
	}
	arms, err := abba.LaneArms(c.Lanes, c.A, c.B)
	if err != nil {
		return err
	}
	if c.URL == "" {
		for i := range arms {
			if err := c.overruled(&arms[i]); err != nil {
				return err
			}
		}
	}
	spec := c.plan(arms)
	if err := spec.Check(); err != nil {
		return err
	}
	t, err := c.open(ctx, 4)
	if err != nil {
		return err
	}
	if err := c.reachable(t); err != nil {
		return errors.Join(err, t.leave())
	}
	before, err := t.client.Lanes(ctx)
	if err != nil {
		return errors.Join(err, t.leave())
	}
	spec.Ask, spec.Cold, spec.Before = c.ask(t), c.Cold, c.before(t)
	stop := c.keepCold(t)
	run, err := abba.Measure(ctx, t.client, spec)
	if failed := stop(); failed != nil {
		return errors.Join(err, failed, t.leave())
	}
	if !t.ours { // leave the server as it was
		for _, l := range c.Lanes {
			err = errors.Join(err, t.client.SetLane(context.WithoutCancel(ctx), l, before[l].Enabled))
		}
	}
	if left := t.leave(); left != nil {
		return errors.Join(err, left)
	}
	return c.finish(c.title(), setup, run, err)
}

func (c benchABBA) title() string {
	s := "Lanes by turns: " + strings.Join(c.Lanes, ", ")
	if c.Cold {
		s += ", n-gram rows cold"
	}
	if c.Delay > 0 {
		s += fmt.Sprintf(", on a disk of %.0f reads a second (simulated)", 1/c.Delay.Seconds())
	}
	return s
}

// modes has a fresh server for every window, since the mode is fixed when a house is built.
func (c benchABBA) modes(ctx context.Context, setup report.Setup) error {
	if c.URL != "" {
		return errors.New("--ple-modes needs a server of its own for every mode; it cannot measure the one at --url")
	}
	var arms []abba.Arm
	for _, mode := range []string{"stock", "sync", "async-raw", "cached"} {
		f := c.benchFlags
		f.PLEMode = mode
		arm := abba.Arm{Name: mode, What: "--ple-mode " + mode, Enter: f.enter}
		if mode != "stock" {
			arm.Lanes = map[string]bool{"ple_cached_aux": true} // and it must have worked
		}
		if err := c.overruled(&arm); err != nil {
			return err
		}
		arms = append(arms, arm)
	}
	plan := c.plan(arms)
	if err := plan.Check(); err != nil {
		return err
	}
	spec, err := c.fresh(ctx, plan)
	if err != nil {
		return err
	}
	run, err := abba.Measure(ctx, nil, spec)
	return c.finish("PLE modes by turns, a fresh server per window", setup, run, err)
}

// fresh completes the plan of a run without a server that all windows share; a throw-away one tells depth and stop ids.
func (f turnFlags) fresh(ctx context.Context, plan abba.Spec) (abba.Spec, error) {
	t, err := f.open(ctx, 1)
	if err != nil {
		return abba.Spec{}, err
	}
	plan.Ask = f.ask(t)
	return plan, t.leave()
}

// enter is abba.Arm.Enter for these flags.
func (f benchFlags) enter(ctx context.Context) (*client.Client, func() error, error) {
	t, err := f.open(ctx, 4)
	if err != nil {
		return nil, nil, err
	}
	return t.client, t.leave, nil
}
