package bundle

import (
	"errors"
	"fmt"
	"io"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// Bundle is a pack that is ready to be served. It is immutable and safe for concurrent use until Close.
type Bundle struct {
	Pack       *pack.Pack
	Device     metal.Device
	Model      *model.Model
	Head       *mtp.Head            // nil: served at depth 0
	HeadReason string               // why Head is nil
	Tokenizer  *tokenizer.Tokenizer // nil: the pack has no tokenizer.json
	Template   *chat.Template       // nil: the pack has no chat template
	Vocab      *sample.Vocab
	StopIDs    []int32
	Defaults   sample.Params // generation_config.json, else 1, 1, 0
}

// Options of Open.
type Options struct {
	Context  int   // most positions of a sequence; 0: the pack's own limit
	PLECache int64 // byte limit of the n-gram row cache; 0: the default

	Placement ple.Placement                 // where n-gram rows are read from
	TableFile func(io.ReaderAt) io.ReaderAt // as in model.Options
}

// Open loads a pack on a device. It takes over the pack, and closes it if it fails; the device stays the caller's.
func Open(p *pack.Pack, dev metal.Device, o Options) (*Bundle, error) {
	b := &Bundle{Pack: p, Device: dev, StopIDs: p.Config.StopIDs}
	if err := b.open(o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bundle) open(o Options) (err error) {
	if err := b.openText(); err != nil {
		return fmt.Errorf("pack %s: %w", b.Pack.Name, err)
	}
	known := func(int32) bool { return true }
	if b.Tokenizer != nil {
		known = b.Tokenizer.Known
	}
	b.Vocab = sample.NewVocab(b.Pack.Config.Vocab, known)
	if b.Defaults, err = defaults(b.Pack.Generation); err != nil {
		return fmt.Errorf("pack %s: generation_config.json: %w", b.Pack.Name, err)
	}
	if b.Model, err = model.Load(b.Pack, b.Device, model.Options{Context: o.Context, PLECache: o.PLECache, Placement: o.Placement, TableFile: o.TableFile}); err != nil {
		return err
	}
	b.Head, err = mtp.Load(b.Pack, b.Model)
	if errors.Is(err, mtp.ErrNoHead) {
		b.HeadReason, err = err.Error(), nil
	}
	b.Pack.LeaveAll()
	return err
}

func (b *Bundle) openText() error {
	raw, ok, err := b.Pack.File("tokenizer.json")
	if err != nil || !ok {
		return err
	}
	config, _, err := b.Pack.File("tokenizer_config.json")
	if err != nil {
		return err
	}
	if b.Tokenizer, err = tokenizer.Load(raw, config); err != nil {
		return err
	}
	if n, v := b.Tokenizer.Size(), b.Pack.Config.Vocab; n > v {
		return fmt.Errorf("tokenizer.json: highest id is %d, want below vocab_size %d", n-1, v)
	}
	source, _, err := b.Pack.File("chat_template.jinja")
	if err != nil {
		return err
	}
	b.Template, err = chat.OpenTemplate(source, config)
	return err
}

// defaults turns generation_config.json into what a request gets that names nothing.
func defaults(g pack.Generation) (sample.Params, error) {
	p := sample.Defaults()
	set := func(dst *float64, src *float64) {
		if src != nil {
			*dst = *src
		}
	}
	set(&p.Temperature, g.Temperature)
	set(&p.TopP, g.TopP)
	set(&p.MinP, g.MinP)
	set(&p.Repetition, g.RepetitionPenalty)
	set(&p.Presence, g.PresencePenalty)
	set(&p.Frequency, g.FrequencyPenalty)
	if g.TopK != nil {
		p.TopK = *g.TopK
	}
	if g.DoSample != nil && !*g.DoSample {
		p.Temperature = 0
	}
	return p, p.Validate()
}

// Close frees the model and closes the pack.
func (b *Bundle) Close() error {
	if b.Head != nil {
		b.Head.Close()
	}
	if b.Model != nil {
		b.Model.Close()
	}
	return b.Pack.Close()
}
