package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/flashlane/flashlane/metal/probe"
	"github.com/flashlane/flashlane/server"
)

type doctorCmd struct {
	houseFlags
}

// Run tells what the machine, the devices, the pack and the lanes are like.
func (c doctorCmd) Run() error {
	if c.LogLevel == "info" {
		c.LogLevel = "error" // verdicts are in what it prints
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "machine\t%s/%s, %d cores, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	for _, d := range probe.All() {
		fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Says)
	}
	h, err := c.start(nil)
	if err != nil {
		fmt.Fprintf(w, "pack\tdoes not load\n")
		return errors.Join(w.Flush(), err)
	}
	info, m := h.bundle.Device.Info(), h.model
	fmt.Fprintf(w, "device\t%s, precision %s, kernels %s, %d threads\n", info.Kind, info.Precision, info.Kernels, info.Threads)
	fmt.Fprintf(w, "pack\t%s (%s), context %d, weights and passes %d MiB\n", m.ID, h.bundle.Pack.Layout, m.Context, h.bundle.Device.Used()>>20)
	if h.bundle.Head == nil {
		fmt.Fprintf(w, "drafting\toff: %s\n", h.bundle.HeadReason)
	} else {
		fmt.Fprintf(w, "drafting\tdepth %d, rule %s\n", m.Depth, m.Rule)
	}
	if h.bundle.Tokenizer == nil {
		fmt.Fprintf(w, "text\tno tokenizer.json: `logits` works, `serve` does not\n")
	}
	for _, l := range server.Bridge(h.system, m, h.bundle).Lanes() {
		fmt.Fprintf(w, "lane %s\t%s %s\n", l.Name, l.Status, l.Reason)
	}
	return errors.Join(w.Flush(), h.close())
}
