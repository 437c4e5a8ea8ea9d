package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/flashlane/flashlane/bench/report"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/metal/cpu"
)

type benchPerplexity struct {
	packFlags
	outFlags
	Text   []string `required:"" sep:"none" help:"Text file, tokenised as it is; repeatable. Windows do not run over from one file to the next." placeholder:"FILE"`
	Window int      `help:"Tokens of a window; each starts from an empty sequence." default:"1024"`
	Chunk  int      `name:"prefill-chunk" help:"Rows of a pass; changes no bit." default:"256"`
}

// perplexityReport is what is measured.
type perplexityReport struct {
	Setup       report.Setup `json:"setup"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"pack_fingerprint"`
	Device      string       `json:"device_kind"`
	Precision   string       `json:"precision"`
	Pack        int64        `json:"pack_bytes"`  // of all tensors
	Weights     int64        `json:"trunk_bytes"` // of those that predict: without table and head
	Files       int          `json:"files"`       // of text
	Text        int64        `json:"text_bytes"`
	Tokens      int          `json:"tokens"` // predicted
	Window      int          `json:"window"`
	Nats        float64      `json:"nats_per_token"`
	Perplexity  float64      `json:"perplexity"`
	BitsPerByte float64      `json:"bits_per_byte"`
	Divergence  *divergence  `json:"to_exact,omitempty"` // precision fast: how far its predictions are from those of exact
}

// divergence is the loss of a precision, for each token.
type divergence struct {
	KL    float64 `json:"kl_nats_per_token"` // KL(exact || fast)
	Worst float64 `json:"kl_worst"`          // of all tokens
	Same  float64 `json:"same_most_likely"`  // share of tokens for which both hold the same id most likely
}

// Run measures how well the trunk predicts a text, teacher-forced: the same text, window and device kind give the same
// figures to the last digit. In precision fast it also runs exact beside it and tells how far apart they are.
func (c benchPerplexity) Run(ctx context.Context) (err error) {
	texts, err := c.read()
	if err != nil {
		return err
	}
	m, p, done, err := c.openModel()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	raw, ok, err := p.File("tokenizer.json")
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("pack %s: no tokenizer.json, so no text can be read", p.Name)
	}
	config, _, err := p.File("tokenizer_config.json")
	if err != nil {
		return err
	}
	tok, err := tokenizer.Load(raw, config)
	if err != nil {
		return err
	}
	info := m.Device.Info()
	r := &perplexityReport{Setup: c.setup(), Model: p.Name, Fingerprint: p.Fingerprint(), Device: info.Kind, Precision: info.Precision,
		Window: c.Window, Files: len(c.Text)}
	for _, t := range p.Tensors() {
		r.Pack += t.Bytes
		if t.Use == "trunk" {
			r.Weights += t.Bytes
		}
	}
	var exact *model.Model
	if r.Precision == cpu.Fast.String() {
		f := c.packFlags
		f.Precision = cpu.Exact.String()
		reference, _, done, err := f.openModel()
		if err != nil {
			return fmt.Errorf("precision exact, to compare with: %w", err)
		}
		defer func() { err = errors.Join(err, done()) }()
		exact = reference
	}
	var sum model.Loss
	var off model.Divergence
	for i, name := range c.Text {
		text := texts[i]
		ids, err := tok.Encode(string(text))
		if err != nil {
			return fmt.Errorf("--text %s: %w", name, err)
		}
		loss, err := model.TextLoss(ctx, m, ids, c.Window, c.Chunk)
		if err != nil {
			return fmt.Errorf("--text %s: %w", name, err)
		}
		sum.Tokens, sum.Nats, r.Text = sum.Tokens+loss.Tokens, sum.Nats+loss.Nats, r.Text+int64(len(text))
		if exact == nil {
			continue
		}
		d, err := model.TextDivergence(ctx, exact, m, ids, c.Window, c.Chunk)
		if err != nil {
			return fmt.Errorf("--text %s: %w", name, err)
		}
		off.Add(d)
	}
	if sum.Tokens == 0 {
		return errors.New("--text: got no two tokens in a row, so nothing to predict")
	}
	r.Tokens, r.Nats, r.Perplexity = sum.Tokens, sum.Mean(), sum.Perplexity()
	r.BitsPerByte = sum.Nats / math.Ln2 / float64(r.Text)
	if exact != nil {
		r.Divergence = &divergence{KL: off.Mean(), Worst: off.Worst, Same: float64(off.Same) / float64(off.Tokens)}
	}
	return c.give(report.Files{Markdown: r.markdown(), JSON: r})
}

// read checks the flags and reads the texts, before the pack is opened.
func (c benchPerplexity) read() (texts [][]byte, err error) {
	if c.Window < 2 {
		return nil, fmt.Errorf("--window: got %d, want at least 2", c.Window)
	}
	if err := checkChunk(c.Chunk); err != nil {
		return nil, err
	}
	if c.Note != "" && c.Out == "" {
		return nil, errors.New("--note: it goes into the files of --out, which is not given")
	}
	if err := c.outFlags.check(); err != nil {
		return nil, err
	}
	for _, name := range c.Text {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--text: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (r *perplexityReport) markdown() string {
	off := [3]string{}
	if d := r.Divergence; d != nil {
		off = [3]string{fmt.Sprintf("%.5f", d.KL), fmt.Sprintf("%.2f", d.Worst), fmt.Sprintf("%.2f %%", 100*d.Same)}
	}
	return fmt.Sprintf("| pack | bytes of tensors | of the trunk | nats/token | perplexity | bits/byte | tokens | window "+
		"| precision | KL to exact | at worst | same most likely |\n"+
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n"+
		"| %s | %d | %d | %.5f | %.4f | %.4f | %d | %d | %s | %s | %s | %s |\n",
		r.Model, r.Pack, r.Weights, r.Nats, r.Perplexity, r.BitsPerByte, r.Tokens, r.Window, r.Precision, off[0], off[1], off[2])
}
