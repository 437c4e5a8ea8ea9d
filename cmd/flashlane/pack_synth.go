package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/quantise"
	"github.com/flashlane/flashlane/engine/pack/synth"
	"github.com/flashlane/flashlane/nano"
)

type synthCmd struct {
	Out      string `arg:"" help:"Folder to write; it must not exist."`
	Geometry string `required:"" help:"released, or a config.json whose sizes to take." placeholder:"released|FILE"`
	Layers   int    `help:"Keep so many layers of the trunk; 0 keeps all." default:"0"`
	Rows     int64  `help:"Most rows of an n-gram table; 0 is what the geometry says." default:"0"`
	Recipe   string `help:"Formats: optimized-speed, q8, q4 or bf16." default:"optimized-speed"`
	Seed     seed   `help:"Of the random numbers." default:"1"`
	NoMTP    bool   `name:"no-mtp" help:"Leave the MTP head out."`
	Sparse   bool   `name:"sparse-table" help:"Leave the n-gram table a hole in its file: it takes no room on the disk, and every row reads as zeros."`
	Shard    string `name:"shard-size" help:"Most bytes of one trunk file." default:"5GiB" placeholder:"SIZE"`
}

// Run writes a random pack and says what was made.
func (c synthCmd) Run(ctx context.Context) error {
	g, err := c.geometry()
	if err != nil {
		return err
	}
	if c.Layers != 0 {
		if err := g.Cut(c.Layers); err != nil {
			return fmt.Errorf("--layers: %w", err)
		}
	}
	if c.Rows != 0 {
		base, made, err := g.SetRows(c.Rows)
		if err != nil {
			return fmt.Errorf("--rows: %w", err)
		}
		fmt.Printf("table\tasked for at most %d rows: ngram_vocab_size_base %d makes %v\n", c.Rows, base, made)
	}
	texts, said, err := nanoTexts(g)
	if err != nil {
		return err
	}
	fmt.Println("text\t" + said)
	source, err := g.JSON()
	if err != nil {
		return err
	}
	config, err := pack.ParseConfig(source)
	if err != nil {
		return err
	}
	o := mlx.Options{Head: !c.NoMTP, Sparse: c.Sparse}
	if o.Recipe, err = quantise.ByName(c.Recipe); err != nil {
		return fmt.Errorf("--recipe: %w", err)
	}
	if o.Shard, err = parseSize(c.Shard); err != nil {
		return fmt.Errorf("--shard-size: %w", err)
	}
	plan, err := mlx.NewPlan(&config, synth.NewValues(uint64(c.Seed), &config), o)
	if err != nil {
		return err
	}
	if c.Sparse && len(plan.Tables()) == 0 {
		return errors.New("--sparse-table: the geometry has no n-gram table")
	}
	if texts["config.json"], err = plan.Config(source); err != nil {
		return err
	}
	m := manifest.Manifest{Made: fmt.Sprintf("pack synth, geometry %s, layers %d, rows %d, recipe %s, seed %d", c.Geometry, config.Layers, c.Rows, c.Recipe, c.Seed)}
	for _, t := range plan.Tables() {
		hole := ""
		if t.Sparse {
			hole = ", a hole in the file: every row reads as zeros, with scales and biases of zero"
			m.Note = "the n-gram table" + hole
		}
		fmt.Printf("table\t%d rows of %d, %s, %d bytes%s\n", t.Rows, t.Dim, t.Format, t.Bytes, hole)
	}
	all, written := plan.Bytes()
	fmt.Printf("pack\t%d layers, recipe %s, %d bytes of tensors, %d of them on the disk\n", config.Layers, c.Recipe, all, written)
	if err := plan.Write(ctx, c.Out, texts, m, writeJobs); err != nil {
		return fmt.Errorf("pack synth: %w", err)
	}
	fmt.Println("written\t" + c.Out)
	return nil
}

func (c synthCmd) geometry() (synth.Geometry, error) {
	if c.Geometry == "released" {
		return synth.Released()
	}
	data, err := os.ReadFile(c.Geometry)
	if err != nil {
		return synth.Geometry{}, fmt.Errorf("--geometry: want released or a config.json: %w", err)
	}
	g, err := synth.Parse(data)
	if err != nil {
		return g, fmt.Errorf("--geometry %s: %w", c.Geometry, err)
	}
	return g, nil
}

// nanoTexts are the embedded pack's tokenizer, template and settings, and its token ids in the geometry. They are left out
// where the vocabulary is too small for them, or the binary has no pack.
func nanoTexts(g synth.Geometry) (texts map[string][]byte, said string, err error) {
	texts = map[string][]byte{}
	files, ok := nano.Files()
	if !ok {
		return texts, "none, as this binary has no embedded pack: logits works, serve does not", nil
	}
	p, err := pack.Open(pack.Files("nano", files))
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	config, err := g.Config()
	if err != nil {
		return nil, "", err
	}
	if config.Vocab < p.Config.Vocab {
		return texts, fmt.Sprintf("none, as %d ids are too few for nano's tokenizer (%d): logits works, serve does not", config.Vocab, p.Config.Vocab), nil
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "LICENSE-GO.txt"} {
		if files[name] == "" {
			return nil, "", fmt.Errorf("the embedded pack has no %s", name)
		}
		texts[name] = []byte(strings.Clone(files[name]))
	}
	g.SetTokens(p.Config.NgramEOS, p.Config.StopIDs)
	return texts, "tokenizer, template and settings of nano", nil
}
