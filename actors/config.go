package actors

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// PLEMode is how planes are made while the lane ple_cached_aux is in force (design, section 5). Only Cached is the lane;
// the others are there to measure.
type PLEMode string

// The modes.
const (
	Stock    PLEMode = "stock"     // the lane is never in force
	Sync     PLEMode = "sync"      // the stager makes the plane when the verifier asks, and the verifier waits
	AsyncRaw PLEMode = "async-raw" // staged ahead, past the row cache
	Cached   PLEMode = "cached"    // staged ahead through the row cache
)

// ParsePLEMode reads a mode; an unknown one is an error that lists them.
func ParsePLEMode(s string) (PLEMode, error) {
	switch m := PLEMode(s); m {
	case Stock, Sync, AsyncRaw, Cached:
		return m, nil
	}
	return "", fmt.Errorf("ple mode: got %q, want one of stock, sync, async-raw, cached", s)
}

// Config is what a house is built of. Model, Vocab and Log must be set.
type Config struct {
	Model       *model.Model
	Head        *mtp.Head            // nil: served at depth 0
	Tokenizer   *tokenizer.Tokenizer // nil: answers are ids without text
	Vocab       *sample.Vocab
	StopIDs     []int32
	Lanes       lanes.Settings
	PLEMode     PLEMode          // "" means Cached
	FixedDepth  bool             // every round gets the depth its request asks for, whatever it costs
	Chunk       int              // rows of a prefill chunk; 0 means 256
	MaxActive   int              // requests worked on at once; 0 means 8
	MaxQueue    int              // requests that may wait; 0 means 256, -1 none
	Pack        string           // the pack's fingerprint, for snapshots
	PrefixCache int64            // bytes that snapshots of prefixes may take; 0: none are kept
	CacheDir    string           // folder of the disk tier of the prefix cache; empty: none
	CacheLimit  int64            // bytes it may take
	Clock       func() time.Time // stamps what the disk tier holds; nil: time.Now. Everything else here measures spans, which no jump changes
	MemoryLimit int64            // bytes the process may hold; 0: no limit
	Beside      int64            // bytes of them that are kept for the program beside the device, its row cache included
	Stall       time.Duration    // how long no counter may move while a pass runs; 0 means 60 s
	Log         zerolog.Logger
	GiveUp      func(err error) // called once when an actor cannot be kept alive; the process should end
}

func (c Config) withDefaults() Config {
	if c.PLEMode == "" {
		c.PLEMode = Cached
	}
	if c.Chunk == 0 {
		c.Chunk = 256
	}
	if c.MaxActive == 0 {
		c.MaxActive = 8
	}
	if c.Stall == 0 {
		c.Stall = time.Minute
	}
	switch c.MaxQueue {
	case 0:
		c.MaxQueue = 256
	case -1:
		c.MaxQueue = 0
	}
	return c
}

func (c Config) check() error {
	switch {
	case c.Model == nil || c.Vocab == nil:
		return fmt.Errorf("actors: config: model and vocabulary must be set")
	case c.Chunk < 1:
		return fmt.Errorf("actors: prefill chunk: got %d rows, want at least 1", c.Chunk)
	case c.MaxActive < 1:
		return fmt.Errorf("actors: active requests: got %d, want at least 1", c.MaxActive)
	case c.MaxQueue < 0:
		return fmt.Errorf("actors: queue: got %d, want 0 or more", c.MaxQueue)
	}
	return nil
}
