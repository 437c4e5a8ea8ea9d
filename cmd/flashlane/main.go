package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the release build with -ldflags "-X main.version=...".
var version = "dev"

// cli is the command line.
type cli struct {
	Serve    serveCmd    `cmd:"" help:"Serve a pack over HTTP."`
	Generate generateCmd `cmd:"" help:"Answer one prompt, with the same defaults as serve."`
	Logits   logitsCmd   `cmd:"" help:"Write the logits of a token sequence as JSON."`
	Replay   replayCmd   `cmd:"" help:"Run a saved response again from its recorded seed and compare the digests."`
	Pack     packCmd     `cmd:"" help:"Work on packs."`
	Bench    benchCmd    `cmd:"" help:"Measure: load, lanes by turns, settings by turns, op by op."`
	Doctor   doctorCmd   `cmd:"" help:"Tell what this machine offers and which lanes would be armed."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	var c cli
	k := kong.Parse(&c, kong.Name("flashlane"), kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Description("Serves models of the Qwen3.8 Flash-Next family (qwen4_exp): byte-exact under every switch."))
	if err := k.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "flashlane: "+err.Error())
		os.Exit(1)
	}
}
