package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/report"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/server"
)

type benchCmd struct {
	Load       benchLoad       `cmd:"" help:"Put many clients on a server: times to first text, gaps, rates, errors."`
	ABBA       benchABBA       `cmd:"" name:"abba" help:"Measure lanes, or the PLE modes, by turns between controls."`
	Pair       benchPair       `cmd:"" help:"Measure two settings by turns, for instance: depth=0 depth=3."`
	Decode     benchDecode     `cmd:"" help:"Measure prefill and rounds op by op against the machine's roofs."`
	Perplexity benchPerplexity `cmd:"" help:"Measure how well a pack predicts a text."`
}

// outFlags say where a report goes.
type outFlags struct {
	Out  string `help:"Write BASE.md, BASE.json and, if there is a chart, BASE.svg." placeholder:"BASE"`
	Note string `help:"A line for the report, for instance what else the machine was doing."`
}

// check refuses a report that could not be written.
func (f outFlags) check() error {
	if f.Out == "" {
		return nil
	}
	return checkOut(f.Out + ".md")
}

// give prints the report and writes its files.
func (f outFlags) give(files report.Files) error {
	fmt.Print(files.Markdown)
	if f.Out == "" {
		return nil
	}
	names, err := files.Save(f.Out)
	if err == nil {
		fmt.Fprintln(os.Stderr, "written: "+strings.Join(names, ", "))
	}
	return err
}

func (f outFlags) setup() report.Setup { return report.NewSetup(os.Args[1:], version, f.Note) }

// benchFlags are what all measurements over HTTP share. The house flags are those of the server that is started for it.
type benchFlags struct {
	houseFlags
	outFlags
	URL         string  `help:"Measure the server at this address of this machine, instead of one that is started for it." placeholder:"http://127.0.0.1:PORT"`
	APIKey      string  `name:"api-key" env:"FLASHLANE_API_KEY" help:"Key of the server at --url."`
	Temperature float64 `help:"Sampling temperature." default:"1"`
	TopP        float64 `name:"top-p" help:"Nucleus; 0 is the pack's." default:"0.95"`
	TopK        int     `name:"top-k" help:"Most candidates; 0 is the pack's." default:"20"`
	NoThink     bool    `name:"no-think" help:"Ask for answers without thinking."`
	RunOn       bool    `name:"run-on" help:"Forbid the ids that end an answer, so that every answer has its full length. With --url they must be named by --ban."`
	Ban         []int32 `help:"Token ids that may not be sampled." placeholder:"ID,..."`
}

// check refuses, before anything is started, what would be ignored or refused later.
func (f benchFlags) check(k *kong.Context) error {
	if err := f.outFlags.check(); err != nil {
		return err
	}
	if f.URL == "" {
		if err := unused(k, "it is the key of a server at --url, and none is named", "api-key"); err != nil {
			return err
		}
	} else {
		house, err := flagNames(&houseFlags{})
		if err != nil {
			return err
		}
		house = slices.DeleteFunc(house, func(name string) bool { // requests name these
			return name == "help" || name == "depth" || name == "acceptance" || name == "seed"
		})
		if err := unused(k, "it is of a server that is started for the measurement; it cannot be had from the one at --url", house...); err != nil {
			return err
		}
	}
	for _, s := range []struct{ key, value string }{{"depth", fmt.Sprint(f.Depth)}, {"acceptance", f.Acceptance},
		{"temperature", fmt.Sprint(f.Temperature)}, {"top-p", fmt.Sprint(f.TopP)}, {"top-k", fmt.Sprint(f.TopK)}} {
		if _, err := requestSetting(s.key, s.value); err != nil {
			return fmt.Errorf("--%s: %w", s.key, err)
		}
	}
	for _, id := range f.Ban {
		if id < 0 {
			return fmt.Errorf("--ban: got %d, want token ids from 0", id)
		}
	}
	return nil
}

// target is a server under measurement.
type target struct {
	client *client.Client
	health client.Health
	ours   bool
	depth  int     // drafts per round that requests ask for
	stops  []int32 // ids that end an answer, of our own server
	vocab  int     // ids of our own server
	leave  func() error
	tables []*ple.Table // n-gram tables of our own server
}

// open starts a server as serve does, on a free loopback port, or connects to the one at --url.
func (f benchFlags) open(ctx context.Context, connections int) (*target, error) {
	t, err := f.reach(connections)
	if err != nil {
		return nil, err
	}
	if t.health, err = t.client.Health(ctx); err == nil && !t.health.Ready {
		err = fmt.Errorf("the server is not ready: %s", t.health.Reason)
	}
	if err == nil && f.RunOn && len(f.stopIDs(t)) == 0 {
		err = errors.New("--run-on: name the ids that end an answer by --ban: a server does not tell them")
	}
	for _, id := range f.Ban {
		if err == nil && t.ours && int(id) >= t.vocab {
			err = fmt.Errorf("--ban: got %d, want token ids below %d, the model's vocabulary", id, t.vocab)
		}
	}
	if err != nil {
		return nil, errors.Join(err, t.leave())
	}
	return t, nil
}

func (f benchFlags) reach(connections int) (*target, error) {
	o := client.Options{Key: f.APIKey, Connections: connections}
	if f.URL != "" {
		c, err := client.New(f.URL, o)
		if err != nil {
			return nil, fmt.Errorf("--url: %w", err)
		}
		return &target{client: c, depth: f.Depth, leave: func() error { c.Close(); return nil }}, nil
	}
	if f.LogLevel == "info" {
		f.LogLevel = "warn"
	}
	h, err := f.start(nil)
	if err != nil {
		return nil, err
	}
	address, stop, err := h.listen()
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	c, err := client.New(address, o)
	if err != nil {
		return nil, errors.Join(err, stop(), h.close())
	}
	t := &target{client: c, ours: true, depth: h.model.Depth, stops: h.bundle.StopIDs, vocab: h.bundle.Vocab.Size(), leave: func() error {
		c.Close()
		return errors.Join(stop(), h.close())
	}}
	for _, l := range h.bundle.Model.PLE {
		t.tables = append(t.tables, l.Cache.Table())
	}
	return t, nil
}

// listen serves the house on a free loopback port until stop is called.
func (h *house) listen() (address string, stop func() error, err error) {
	s, err := server.New(server.Options{Listen: "127.0.0.1:0", Version: version, Log: h.log}, server.Bridge(h.system, h.model, h.bundle), h.model)
	if err != nil {
		return "", nil, err
	}
	var ln net.Listener
	if ln, err = s.Listen(); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	return "http://" + ln.Addr().String(), func() error { cancel(); return <-done }, nil
}

func (f benchFlags) stopIDs(t *target) []int32 {
	if f.RunOn {
		return append(append([]int32(nil), f.Ban...), t.stops...)
	}
	return f.Ban
}

// ask is a request's settings.
func (f benchFlags) ask(t *target) client.Ask {
	depth := t.depth
	return client.Ask{Temperature: f.Temperature, TopP: f.TopP, TopK: f.TopK, Depth: &depth, Acceptance: f.Acceptance, NoThink: f.NoThink, Ban: f.stopIDs(t)}
}

// sampling is them in words.
func (f benchFlags) sampling(t *target) string {
	fixed := ""
	if t.ours && f.FixedDepth {
		fixed = " (fixed)"
	}
	out := fmt.Sprintf("temperature %g, top-p %g, top-k %d, depth %d%s", f.Temperature, f.TopP, f.TopK, t.depth, fixed)
	if len(f.stopIDs(t)) > 0 {
		out += ", ids that end an answer forbidden"
	}
	return out
}

// settle makes windows alike: what one left on the heap is not the next one's to collect.
func settle() error {
	runtime.GC()
	time.Sleep(20 * time.Millisecond) // freed pages go back, workers park
	return nil
}
