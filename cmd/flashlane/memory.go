package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/engine/bundle"
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
}

// shareMemory divides the limit between the device and the program beside it, after a pack has been loaded: the limit is on
// the whole process, as the system sees it. Where no limit is known, or the device's memory is its own, nothing is divided.
func shareMemory(b *bundle.Bundle) (shares, error) {
	host, ok := b.Device.(metal.Hosted)
	if !ok || host.Limit() == 0 {
		return shares{}, nil
	}
	s := shares{limit: host.Limit()}
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
		return shares{}, fmt.Errorf("--memory-limit: got %d MiB, want more than %d: %d for weights, %d for the program and its growth, %d for n-gram rows",
			s.limit>>20, need>>20, b.Device.Used()>>20, (program+s.growth)>>20, (cached+inPlace)>>20)
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
		return fmt.Errorf("--memory-limit: got %d MiB, want at least %d for one request of %d positions (smaller: --prefill-chunk, --ngram-cache off): %w",
			s.limit>>20, (s.limit+no.Need-no.Room)>>20+1, leastPositions, err)
	case errors.Is(err, metal.ErrMemory):
		return fmt.Errorf("--memory-limit: got %d MiB, which leaves too little for passes: raise it, or lower --prefill-chunk: %w", s.limit>>20, err)
	}
	return err
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
