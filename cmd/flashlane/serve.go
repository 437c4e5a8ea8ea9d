package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flashlane/flashlane/server"
)

type serveCmd struct {
	houseFlags
	Listen      string        `help:"Address to listen on. Anything but loopback needs --api-key-file." default:"127.0.0.1:8080"`
	APIKeyFile  string        `name:"api-key-file" help:"File with API keys, one per line, optionally NAME:KEY." placeholder:"FILE"`
	KeyRate     int           `name:"key-rate" help:"Requests per minute and key; 0 is no limit." default:"0"`
	KeyActive   int           `name:"key-concurrent" help:"Requests at once and key; 0 is no limit." default:"0"`
	CORS        []string      `name:"cors-origin" help:"Origin that browsers may call from; repeatable. Default: none." placeholder:"ORIGIN"`
	Stall       time.Duration `help:"How long a request may make no progress before it ends." default:"10m"`
	DebugFaults bool          `name:"debug-faults" help:"Allow POST /debug/fault from this machine (for tests)."`
	Pprof       bool          `help:"Serve /debug/pprof to this machine."`
}

// Run serves until a signal comes, then drains and returns nil.
func (c serveCmd) Run(ctx context.Context) error {
	o := server.Options{Listen: c.Listen, Version: version, DebugFaults: c.DebugFaults, Pprof: c.Pprof,
		KeyRate: c.KeyRate, KeyConcurrent: c.KeyActive, CORS: c.CORS, Stall: c.Stall}
	if c.KeyRate < 0 || c.KeyActive < 0 || c.Stall <= 0 {
		return fmt.Errorf("--key-rate %d, --key-concurrent %d, --stall %v: want 0 or more, and a stall above 0", c.KeyRate, c.KeyActive, c.Stall)
	}
	if c.KeyRate+c.KeyActive > 0 && c.APIKeyFile == "" {
		return fmt.Errorf("--key-rate %d, --key-concurrent %d: limits per key need --api-key-file", c.KeyRate, c.KeyActive)
	}
	if c.APIKeyFile != "" {
		keys, err := server.LoadKeys(c.APIKeyFile)
		if err != nil {
			return fmt.Errorf("--api-key-file: %w", err)
		}
		o.Keys = keys
	}
	if err := server.CheckListen(c.Listen, o.Keys != nil); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Why the house was given up, known at once: a signal may end the server before the moment below is over.
	lost, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	h, err := c.start(func(err error) {
		giveUp(fmt.Errorf("the house was given up: %w", err))
		time.AfterFunc(time.Second, stop) // a moment for /readyz to tell it; requests have been told already
	})
	if err != nil {
		return err
	}
	o.Log, o.BodyMemory = h.log, h.memory.growth*2/3
	err = errors.Join(serve(ctx, o, h), h.close())
	return errors.Join(context.Cause(lost), err) // the cause is nil of a house that was not given up
}

func serve(ctx context.Context, o server.Options, h *house) error {
	s, err := server.New(o, server.Bridge(h.system, h.model, h.bundle), h.model)
	if err != nil {
		return err
	}
	ln, err := s.Listen()
	if err != nil {
		return err
	}
	h.log.Info().Str("address", "http://"+ln.Addr().String()).Str("model", h.model.ID).Str("device", h.model.DeviceKind).
		Str("precision", h.model.Precision).Str("kernels", h.bundle.Device.Info().Kernels).Int("depth", h.model.Depth).Int("context", h.model.Context).Msg("serving")
	return s.Serve(ctx, ln)
}
