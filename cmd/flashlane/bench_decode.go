package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/bench/decode"
	"github.com/flashlane/flashlane/bench/ops"
	"github.com/flashlane/flashlane/bench/prompt"
	"github.com/flashlane/flashlane/bench/report"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/server"
)

type benchDecode struct {
	packFlags
	outFlags
	Prompt int  `help:"Prompt length in templated tokens." default:"512"`
	Output int  `help:"Tokens to generate." default:"128"`
	Depth  int  `help:"Drafts per round; 0 measures plain decoding." default:"3"`
	Chunk  int  `name:"prefill-chunk" help:"Rows of a prefill chunk." default:"256"`
	Repeat int  `help:"Runs to take the mean of, after one to warm up." default:"3"`
	Parts  bool `help:"Do fused ops as their parts, and time those: slower, but told apart."`
	Seed   seed `help:"Of the prompt's words." default:"1"`
}

// Run measures the engine on a device that times every op.
func (c benchDecode) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	r := &decode.Report{Setup: c.setup(), Parts: c.Parts, Depth: c.Depth, Chunk: c.Chunk}
	p, id, err := c.openPack()
	if err != nil {
		return err
	}
	inner, err := c.openDevice()
	if err != nil {
		return errors.Join(err, p.Close())
	}
	o, err := c.options(p, inner)
	if err != nil {
		return errors.Join(err, p.Close(), inner.Close())
	}
	dev := ops.Wrap(inner)
	dev.Parts = c.Parts
	less := c.less(p)
	b, err := bundle.Open(p, dev, o)
	if err != nil {
		return errors.Join(c.unloaded(err, less), dev.Close())
	}
	if b.Head == nil && c.Depth > 0 {
		r.Depth, r.Note = 0, r.Note+" Depth 0: "+b.HeadReason
	}
	r.Model, r.Device, r.Precision, r.Kernels, r.Weights = id, dev.Info().Kind, dev.Info().Precision, dev.Info().Kernels, dev.Used()
	err = c.measure(ctx, b, dev, r)
	if err := errors.Join(err, b.Close(), dev.Close()); err != nil {
		return err
	}
	return c.give(report.Files{Markdown: r.Markdown(), JSON: r})
}

// check refuses before the pack is opened.
func (c benchDecode) check() error {
	switch {
	case c.Depth < 0 || c.Depth > server.MaxDepth:
		return fmt.Errorf("--depth: got %d, want 0 to %d", c.Depth, server.MaxDepth)
	case c.Prompt < 2 || c.Output < 2:
		return fmt.Errorf("--prompt %d, --output %d: want at least 2 and 2", c.Prompt, c.Output)
	case c.Repeat < 1:
		return fmt.Errorf("--repeat: got %d, want at least 1", c.Repeat)
	}
	if err := checkChunk(c.Chunk); err != nil {
		return err
	}
	return c.outFlags.check()
}

func (c benchDecode) measure(ctx context.Context, b *bundle.Bundle, dev *ops.Device, r *decode.Report) error {
	ids, err := c.promptIDs(ctx, b)
	if err != nil {
		return err
	}
	run, err := decode.Measure(ctx, b, dev, decode.Options{Prompt: ids, Tokens: c.Output, Depth: r.Depth, Chunk: c.Chunk, Repeat: c.Repeat})
	if err != nil {
		return err
	}
	r.Against(run, ops.MeasureRoofs(dev.Info().Threads, r.Weights))
	return nil
}

// promptIDs is a chat prompt of the wanted length, or, in packs without text, so many ids in a row.
func (c benchDecode) promptIDs(ctx context.Context, b *bundle.Bundle) (ids []int32, err error) {
	if b.Tokenizer == nil || b.Template == nil {
		for i := range c.Prompt {
			ids = append(ids, int32((i*37+int(uint64(c.Seed)%uint64(b.Model.Config.Vocab)))%b.Model.Config.Vocab))
		}
		return ids, nil
	}
	_, err = prompt.Make(ctx, func(_ context.Context, text string) (int, error) {
		message, err := json.Marshal(map[string]string{"role": "user", "content": text})
		if err != nil {
			return 0, err
		}
		rendered, err := b.Template.Render(chat.Input{Messages: []json.RawMessage{message}, AddGenerationPrompt: true})
		if err != nil {
			return 0, fmt.Errorf("chat template: %w", err)
		}
		ids, err = b.Tokenizer.Encode(rendered)
		return len(ids), err
	}, prompt.Spec{Tokens: c.Prompt, Seed: uint64(c.Seed)})
	return ids, err
}
