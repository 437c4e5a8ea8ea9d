package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// What the program may grow by once it serves: bodies, answers, tokens, scratch of the device. Go's collector is told.
const (
	leastGrowth = 32 << 20
	mostGrowth  = 3 << 29
)

// shares is how the limit on the process is divided, in bytes. The zero value is no limit.
type shares struct {
	limit  int64
	beside int64 // kept for the program, growth included
	growth int64
	less   string // what else makes a start fit, as the end of a refusal
}

// shareMemory divides the limit between the device and the program beside it, after a pack has been loaded: the limit is on
// the whole process, as the system sees it. Where no limit is known, or the device's memory is its own, nothing is divided.
// less names what makes a start fit into less (see packFlags.less).
func shareMemory(b *bundle.Bundle, less string) (shares, error) {
	host, ok := b.Device.(metal.Hosted)
	if !ok || host.Limit() == 0 {
		return shares{}, nil
	}
	s := shares{limit: host.Limit(), less: less}
	debug.FreeOSMemory() // loading left garbage
	resident := accountant.Resident()
	if resident == 0 {
		resident = accountant.Program() + b.Device.Used()
	}
	program := max(resident-b.Device.Used(), accountant.Program())
	cached, inPlace := rowMemory(b)
	s.growth = min(max(s.limit/16, leastGrowth), mostGrowth)
	s.beside = program + cached + inPlace + s.growth
	if need := b.Device.Used() + s.beside; need > s.limit {
		return shares{}, fmt.Errorf("--memory-limit: got %d MiB, want more than %d: %d for weights, %d for the program and its growth, %d for n-gram rows%s",
			s.limit>>20, need>>20, b.Device.Used()>>20, (program+s.growth)>>20, (cached+inPlace)>>20, less)
	}
	host.Beside(s.beside)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(accountant.GoMemory() + cached + s.growth)
	}
	return s, nil
}

// leastPositions is a short chat. A server that could not admit one does not start.
const leastPositions = 256

// tooSmall says which limit would do, if err is that there is no room for passes or for a short request.
func tooSmall(err error, s shares) error {
	var no *accountant.Refusal
	switch {
	case errors.As(err, &no):
		return fmt.Errorf("--memory-limit: got %d MiB, want at least %d for one request of %d positions, or a smaller --prefill-chunk%s: %w",
			s.limit>>20, (s.limit+no.Need-no.Room)>>20+1, leastPositions, s.less, err)
	case errors.Is(err, metal.ErrMemory):
		return fmt.Errorf("--memory-limit: got %d MiB, which leaves too little for passes: raise it, or lower --prefill-chunk%s: %w", s.limit>>20, s.less, err)
	}
	return err
}

// less names, as the end of a refusal, the flags by which a pack's n-gram rows would take less memory; "" if none would.
func (f packFlags) less(p *pack.Pack) string {
	var table int64
	for k := range p.Config.PLELayers {
		if spec, err := p.NgramTable(k); err == nil { // else loading says it
			table += spec.Bytes()
		}
	}
	if table == 0 {
		return ""
	}
	var ways []string
	if f.Model != nil && f.Place != "file" {
		ways = append(ways, fmt.Sprintf("--ngram-placement file, which keeps the n-gram table (%d MiB) out of the process", max(table>>20, 1)))
	}
	if f.Ngram != "off" && f.Ngram != "0" {
		ways = append(ways, "--ngram-cache off")
	}
	if len(ways) == 0 {
		return ""
	}
	return "; what needs less: " + strings.Join(ways, ", or ")
}

// unloaded is the error of a pack that could not be loaded. One for want of memory names the flags that help.
func (f packFlags) unloaded(err error, less string) error {
	if !errors.Is(err, metal.ErrMemory) {
		return err
	}
	limit := "--memory-limit: the memory of this machine or its control group"
	if f.Memory != "" {
		limit = "--memory-limit: got " + f.Memory
	}
	return fmt.Errorf("%s, which is too little for the pack%s: %w", limit, less, err)
}

// rowMemory is what the caches of n-gram rows may come to hold, and what tables that are read where they lie may bring into
// the process page by page. A table that was copied is the device's to count.
func rowMemory(b *bundle.Bundle) (cached, inPlace int64) {
	for _, l := range b.Model.PLE {
		cached += l.Cache.Most()
		inPlace += l.Cache.Table().InPlace()
	}
	return cached, inPlace
}
