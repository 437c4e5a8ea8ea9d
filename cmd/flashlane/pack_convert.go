package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/convert"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

type convertCmd struct {
	Source string `arg:"" name:"hf-dir" help:"Folder of the pack to convert: an HF checkpoint, or the MLX layout where no code changes."`
	Out    string `arg:"" help:"Folder to write; it must not exist."`
	Recipe string `required:"" help:"Formats: optimized-speed, q8, q4 or bf16."`
	Shard  string `name:"shard-size" help:"Most bytes of one trunk file." default:"5GiB" placeholder:"SIZE"`
}

// Run writes the pack anew in a recipe and says what was made and what was left out.
func (c convertCmd) Run(ctx context.Context) (err error) {
	var o mlx.Options
	if o.Recipe, err = quantise.ByName(c.Recipe); err != nil {
		return fmt.Errorf("--recipe: %w", err)
	}
	if o.Shard, err = parseSize(c.Shard); err != nil {
		return fmt.Errorf("--shard-size: %w", err)
	}
	src, err := pack.Dir(c.Source)
	if err != nil {
		return err
	}
	p, err := pack.Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	source, err := convert.From(p)
	if err != nil {
		return fmt.Errorf("pack convert: %w", err)
	}
	why := ""
	if o.Head, why = source.Head(); !o.Head {
		fmt.Println("left out\tthe MTP head: " + why)
	}
	if unused := p.Summary().Unused; len(unused) > 0 {
		fmt.Printf("left out\t%d tensors that the text model does not use, such as %s\n", len(unused), unused[0])
	}
	plan, err := mlx.NewPlan(&p.Config, source, o)
	if err != nil {
		return fmt.Errorf("pack convert: %w", err)
	}
	texts, err := packTexts(c.Source, p)
	if err != nil {
		return err
	}
	if texts["config.json"], err = plan.Config(texts["config.json"]); err != nil {
		return err
	}
	for _, t := range plan.Tables() {
		fmt.Printf("table\t%d rows of %d, %s, %d bytes\n", t.Rows, t.Dim, t.Format, t.Bytes)
	}
	all, _ := plan.Bytes()
	fmt.Printf("pack\trecipe %s, %d bytes of tensors, from %d\n", c.Recipe, all, p.Summary().Bytes)
	m := manifest.Manifest{Made: fmt.Sprintf("pack convert, recipe %s, from %s (%s, fingerprint %s)", c.Recipe, p.Name, p.Layout, p.Fingerprint())}
	if err := plan.Write(ctx, c.Out, texts, m, writeJobs); err != nil {
		return fmt.Errorf("pack convert: %w", err)
	}
	fmt.Println("written\t" + c.Out)
	return nil
}

// textNames are the files beside the weights that a converted pack keeps. A card (README.md) is not among them: it
// describes the source.
var textNames = []string{
	"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json",
}

// packTexts reads them, and every licence and notice.
func packTexts(dir string, p *pack.Pack) (map[string][]byte, error) {
	names := slices.Clone(textNames)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n := strings.ToUpper(e.Name()); !e.IsDir() && (strings.HasPrefix(n, "LICENSE") || strings.HasPrefix(n, "LICENCE") || strings.HasPrefix(n, "NOTICE")) &&
			filepath.Ext(n) != ".SAFETENSORS" {
			names = append(names, e.Name())
		}
	}
	texts := map[string][]byte{}
	for _, name := range names {
		data, ok, err := p.File(name)
		if err != nil {
			return nil, err
		}
		if ok {
			texts[name] = data
		}
	}
	return texts, nil
}
