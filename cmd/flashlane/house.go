package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server"
)

// houseFlags say how requests are run; serve, generate and replay share them, so that none is configured differently.
type houseFlags struct {
	packFlags
	ModelID    string   `name:"model-id" help:"Model id shown to clients. Default: the pack folder's name."`
	Depth      int      `help:"Drafts per round (0 to 7)." default:"3"`
	FixedDepth bool     `name:"fixed-depth" help:"Give every round the depth its request asks for, instead of less where drafts do not pay."`
	Acceptance string   `help:"Acceptance rule: coupled (exact bytes) or residual (exact law)." default:"coupled"`
	Seed       *seed    `help:"Seed of requests that name none, a 64-bit integer, signed or not. Default: a fresh one each."`
	Disable    []string `name:"disable-optimization" sep:"none" help:"Lanes to switch off, comma separated, or all. Repeatable."`
	PLEMode    string   `name:"ple-mode" help:"How planes are made, for measurement: stock, sync, async-raw or cached." default:"cached"`
	Chunk      int      `name:"prefill-chunk" help:"Rows of a prefill chunk." default:"256"`
	Prefix     string   `name:"prefix-cache" help:"Most memory for snapshots of prompt beginnings; 0 keeps none. Default: an eighth of what the memory limit leaves." placeholder:"SIZE"`
	CacheDir   string   `name:"cache-dir" help:"Folder where snapshots of prompt beginnings outlive the process. Default: none." placeholder:"DIR"`
	CacheSize  string   `name:"cache-size" help:"Most disk for them. Default: 8GiB." placeholder:"SIZE"`
	MaxActive  int      `name:"max-active" help:"Requests worked on at once." default:"8"`
	MaxQueue   int      `name:"max-queue" help:"Requests that may wait; more get 429." default:"256"`
	LogLevel   string   `name:"log-level" help:"debug, info, warn or error." default:"info"`
	LogFormat  string   `name:"log-format" help:"json or console, which has colours on a terminal unless NO_COLOR is set." default:"json"`
}

// house is a running engine and what was opened for it.
type house struct {
	bundle *bundle.Bundle
	system *actors.System
	model  *server.Model
	memory shares
	log    zerolog.Logger
}

// logger builds the log on standard error.
func (f houseFlags) logger() (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(f.LogLevel)
	if err != nil || f.LogLevel == "" {
		return zerolog.Nop(), fmt.Errorf("--log-level: got %q, want debug, info, warn or error", f.LogLevel)
	}
	var out io.Writer = os.Stderr
	switch f.LogFormat {
	case "json":
	case "console":
		out = zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly, NoColor: !colours(term.IsTerminal(int(os.Stderr.Fd())), os.Getenv)}
	default:
		return zerolog.Nop(), fmt.Errorf("--log-format: got %q, want json or console", f.LogFormat)
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger(), nil
}

// colours says whether a console log has them: on a terminal that can, unless NO_COLOR is set (https://no-color.org).
func colours(terminal bool, env func(string) string) bool {
	return terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// choices are what the flags say, read.
type choices struct {
	log              zerolog.Logger
	lanes            lanes.Settings
	mode             actors.PLEMode
	rule             verify.Rule
	prefixes, onDisk int64 // bytes, as caches gives them
}

// read checks every flag as far as that goes without the pack.
func (f houseFlags) read() (c choices, err error) {
	if c.log, err = f.logger(); err != nil {
		return c, err
	}
	if c.lanes, err = lanes.Resolve(os.LookupEnv, f.Disable); err != nil {
		return c, err
	}
	if c.mode, err = actors.ParsePLEMode(f.PLEMode); err != nil {
		return c, fmt.Errorf("--ple-mode: %w", err)
	}
	if c.rule, err = verify.ParseRule(f.Acceptance); err != nil {
		return c, fmt.Errorf("--acceptance: %w", err)
	}
	switch {
	case f.Depth < 0 || f.Depth > server.MaxDepth:
		return c, fmt.Errorf("--depth: got %d, want 0 to %d", f.Depth, server.MaxDepth)
	case f.MaxActive < 1 || f.MaxQueue < 0:
		return c, fmt.Errorf("--max-active %d, --max-queue %d: want at least 1 and 0", f.MaxActive, f.MaxQueue)
	}
	if err := checkChunk(f.Chunk); err != nil {
		return c, err
	}
	c.prefixes, c.onDisk, err = f.caches()
	return c, err
}

// check refuses what start would refuse before it loads weights: every flag, and a pack that does not open or is not whole.
func (f houseFlags) check() error {
	if _, err := f.read(); err != nil {
		return err
	}
	return f.packFlags.check()
}

// mostChunk is the most rows of a prefill chunk.
const mostChunk = 1 << 14

// checkChunk holds for --prefill-chunk of every command.
func checkChunk(rows int) error {
	if rows < 1 || rows > mostChunk {
		return fmt.Errorf("--prefill-chunk: got %d, want 1 to %d", rows, mostChunk)
	}
	return nil
}

// start checks every flag, loads the pack and opens the house.
func (f houseFlags) start(giveUp func(error)) (*house, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	log, prefixes := c.log, c.prefixes
	for _, key := range lanes.Unread(os.Environ(), "FLASHLANE_TEST_MAIN", "FLASHLANE_BIN", "FLASHLANE_GOLDEN_DIR", "FLASHLANE_QWEN3_DIR") {
		log.Warn().Str("key", key).Msg("environment key is not one of flashlane's: it switches nothing")
	}
	b, id, err := f.open()
	if err != nil {
		return nil, err
	}
	h := &house{bundle: b, log: log}
	if h.model = f.describe(b, id, c.rule); h.model.Depth != f.Depth {
		log.Warn().Int("asked", f.Depth).Str("reason", b.HeadReason).Msg("served at depth 0: the pack has no usable MTP head")
	}
	if h.memory, err = shareMemory(b, f.less(b.Pack)); err != nil {
		return nil, errors.Join(err, h.closeBundle())
	}
	if f.Prefix == "" {
		prefixes = max(h.memory.limit-h.memory.beside-b.Device.Used(), 0) / 8
	}
	if f.CacheDir != "" && prefixes == 0 {
		err := errors.New("--cache-dir: nothing is left for the prefix cache that it needs: raise --memory-limit, or give --prefix-cache a size")
		return nil, errors.Join(err, h.closeBundle())
	}
	queue := f.MaxQueue
	if queue == 0 {
		queue = -1
	}
	h.system, err = actors.Start(actors.Config{Model: b.Model, Head: b.Head, Tokenizer: b.Tokenizer, Vocab: b.Vocab, StopIDs: b.StopIDs,
		Lanes: c.lanes, PLEMode: c.mode, Chunk: f.Chunk, MaxActive: f.MaxActive, MaxQueue: queue,
		MemoryLimit: h.memory.limit, Beside: h.memory.beside, PrefixCache: prefixes, CacheDir: f.CacheDir, CacheLimit: c.onDisk, Pack: h.model.Fingerprint, FixedDepth: f.FixedDepth, Log: log, GiveUp: giveUp})
	if err != nil {
		return nil, errors.Join(tooSmall(err, h.memory), h.closeBundle())
	}
	if err := h.system.Check(min(leastPositions, b.Model.Context())); err != nil {
		return nil, errors.Join(tooSmall(err, h.memory), h.close())
	}
	return h, nil
}

// defaultDisk is --cache-size.
const defaultDisk = 8 << 30

// caches reads the sizes of the prefix cache, 0 where the flag is not given, and of its disk tier.
func (f houseFlags) caches() (memory, disk int64, err error) {
	if f.Prefix != "0" {
		if memory, err = parseSize(f.Prefix); err != nil {
			return 0, 0, fmt.Errorf("--prefix-cache: %w, or 0", err)
		}
	}
	if disk, err = parseSize(f.CacheSize); err != nil {
		return 0, 0, fmt.Errorf("--cache-size: %w", err)
	}
	switch {
	case f.CacheDir == "" && f.CacheSize != "":
		return 0, 0, errors.New("--cache-size: it is of --cache-dir, which is not given")
	case f.CacheDir != "" && f.Prefix == "0":
		return 0, 0, errors.New("--cache-dir needs a prefix cache: --prefix-cache 0 turns it off")
	case disk == 0:
		disk = defaultDisk
	}
	return memory, disk, nil
}

// describe is the pack as the wires need it.
func (f houseFlags) describe(b *bundle.Bundle, id string, rule verify.Rule) *server.Model {
	if f.ModelID != "" {
		id = f.ModelID
	}
	m := &server.Model{ID: id, Created: time.Now().Unix(), Context: b.Model.Context(), Tokenizer: b.Tokenizer, Template: b.Template,
		Vocab: b.Vocab, Defaults: b.Defaults, Seed: (*uint64)(f.Seed), Depth: f.Depth, MaxDepth: server.MaxDepth, Rule: rule,
		DeviceKind: b.Device.Info().Kind, Precision: b.Device.Info().Precision, Fingerprint: b.Pack.Fingerprint()}
	if b.Tokenizer != nil {
		m.Grammars = server.NewGrammars(b.Tokenizer, b.Vocab.Size(), b.StopIDs)
	}
	if b.Head == nil {
		m.Depth, m.MaxDepth = 0, 0
	}
	return m
}

// close ends the house and frees the model.
func (h *house) close() error {
	return errors.Join(h.system.Close(10*time.Second), h.closeBundle())
}

func (h *house) closeBundle() error {
	return errors.Join(h.bundle.Close(), h.bundle.Device.Close())
}
