package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/bench/abba"
	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server"
)

type benchPair struct {
	turnFlags
	First  string `arg:"" name:"A" help:"The control: KEY=VALUE[,KEY=VALUE]. Keys: a lane (on, off); depth, temperature, top-p, top-k, acceptance of the requests; url; or any flag of serve without its dashes, for a fresh server per window."`
	Second string `arg:"" name:"B" help:"What is compared with it."`
	Differ bool   `help:"The settings may change the text: do not compare digests between them."`
}

// Run measures A, B, B, A for every seed.
func (c benchPair) Run(ctx context.Context, k *kong.Context) error {
	if err := c.check(k); err != nil {
		return err
	}
	c.prepare()
	setup := c.setup()
	a, err := c.arm(c.First)
	if err != nil {
		return err
	}
	b, err := c.arm(c.Second)
	if err != nil {
		return err
	}
	// A setting that only one of them names would be left over from the other's window, or be the same in both.
	if x, y := laneKeys(a), laneKeys(b); !slices.Equal(x, y) {
		return fmt.Errorf("setting A names the lanes %v and setting B %v: name the same lanes in both", x, y)
	}
	a.Name, b.Name = "A", "B"
	arms := []abba.Arm{*a, *b}
	own := a.Enter != nil || b.Enter != nil
	for i := range arms {
		if own && arms[i].Enter == nil {
			arms[i].Enter = c.enter // both from a fresh start, or neither
		}
	}
	plan := c.plan(arms)
	plan.Differ = c.Differ
	if err := plan.Check(); err != nil {
		return err
	}
	title := "By turns: " + c.First + " against " + c.Second
	if own {
		spec, err := c.fresh(ctx, plan)
		if err != nil {
			return err
		}
		run, err := abba.Measure(ctx, nil, spec)
		return c.finish(title+", a fresh server per window", setup, run, err)
	}
	t, err := c.open(ctx, 4)
	if err != nil {
		return err
	}
	plan.Ask = c.ask(t)
	run, err := abba.Measure(ctx, t.client, plan)
	if left := t.leave(); left != nil {
		return errors.Join(err, left)
	}
	return c.finish(title, setup, run, err)
}

func laneKeys(a *abba.Arm) (out []string) {
	for l := range a.Lanes {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// arm reads one setting.
func (c benchPair) arm(setting string) (*abba.Arm, error) {
	a := &abba.Arm{Name: setting, What: setting, Lanes: map[string]bool{}}
	var args []string
	var tunes []func(*client.Ask)
	own, address, seen := c.benchFlags, "", map[string]bool{}
	for part := range strings.SplitSeq(setting, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("setting %q: got %q, want KEY=VALUE", setting, part)
		}
		switch {
		case seen[key]:
			return nil, fmt.Errorf("setting %q: %s twice: name it once", setting, key)
		case key == "help":
			return nil, fmt.Errorf("setting %q: help is no setting", setting)
		case key == "seed":
			return nil, fmt.Errorf("setting %q: seed: every request has one of --seeds: give those", setting)
		}
		seen[key] = true
		if _, err := lanes.Parse(key); err == nil {
			if value != "on" && value != "off" {
				return nil, fmt.Errorf("setting %q: lane %s: got %q, want on or off", setting, key, value)
			}
			a.Lanes[key] = value == "on"
			continue
		}
		if key == "url" {
			address = value
			continue
		}
		tune, err := requestSetting(key, value)
		if err != nil {
			return nil, fmt.Errorf("setting %q: %s: %w", setting, key, err)
		}
		if tune == nil {
			args = append(args, "--"+part)
			continue
		}
		tunes = append(tunes, tune)
	}
	if len(tunes) > 0 {
		a.Tune = func(q *client.Ask) {
			for _, tune := range tunes {
				tune(q)
			}
		}
	}
	switch {
	case len(args) > 0 && (address != "" || c.URL != ""):
		return nil, fmt.Errorf("setting %q: %s is of a server that is started for it; it cannot be had from one that runs already", setting, strings.Join(args, " "))
	case address != "":
		own.URL = address
		a.Enter = own.enter
	case len(args) > 0:
		err := own.houseFlags.parse(args)
		if err == nil {
			err = own.houseFlags.check()
		}
		if err != nil {
			return nil, fmt.Errorf("setting %q: %w", setting, err)
		}
		a.Enter = own.enter
	}
	if address == "" && c.URL == "" {
		if err := own.overruled(a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// requestSetting is what a key does to a request; nil if it is no setting of requests.
func requestSetting(key, value string) (func(*client.Ask), error) {
	whole := func(least, most int) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("got %q, want %d to %d", value, least, most)
		}
		return n, nil
	}
	real := func(most float64) (float64, error) {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x <= most) {
			return 0, fmt.Errorf("got %q, want 0 to %g", value, most)
		}
		return x, nil
	}
	switch key {
	case "depth":
		n, err := whole(0, server.MaxDepth)
		return func(q *client.Ask) { q.Depth = &n }, err
	case "temperature":
		x, err := real(2)
		return func(q *client.Ask) { q.Temperature = x }, err
	case "top-p":
		x, err := real(1)
		return func(q *client.Ask) { q.TopP = x }, err
	case "top-k":
		n, err := whole(0, 1<<31-1)
		return func(q *client.Ask) { q.TopK = n }, err
	case "acceptance":
		_, err := verify.ParseRule(value)
		return func(q *client.Ask) { q.Acceptance = value }, err
	}
	return nil, nil
}

// parse puts flags of serve on top of the ones there are.
func (f *houseFlags) parse(args []string) error {
	given := *f
	p, err := kong.New(&given, kong.Name("flags of serve"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		return err
	}
	k, err := p.Parse(args)
	if err != nil {
		return err
	}
	named := map[uintptr]bool{}
	for _, e := range k.Path {
		if e.Flag != nil {
			named[e.Flag.Target.Addr().Pointer()] = true
		}
	}
	take(reflect.ValueOf(f).Elem(), reflect.ValueOf(&given).Elem(), named)
	return nil
}

// take copies the fields of from whose addresses are named; kong has given its defaults to the others.
func take(to, from reflect.Value, named map[uintptr]bool) {
	for i := range from.NumField() {
		switch v := from.Field(i); {
		case v.Kind() == reflect.Struct:
			take(to.Field(i), v, named)
		case named[v.Addr().Pointer()]:
			to.Field(i).Set(v)
		}
	}
}
