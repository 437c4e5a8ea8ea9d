package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/engine/model"
)

type logitsCmd struct {
	packFlags
	IDs    string `name:"ids" required:"" help:"Token ids, comma separated."`
	All    bool   `help:"Logits of every position, not of the last only."`
	Layers bool   `help:"Also the stream state after each layer and the blocks each QSA layer selected."`
	Chunk  int    `name:"prefill-chunk" help:"Rows of a prefill chunk; changes no bit." default:"256"`
	Out    string `help:"File to write; - is standard output." default:"-" placeholder:"FILE.json"`
}

// Run writes the JSON that model.Logits documents.
func (c logitsCmd) Run(ctx context.Context) error {
	ids, err := parseIDs(c.IDs)
	if err != nil {
		return fmt.Errorf("--ids: %w", err)
	}
	if err := checkChunk(c.Chunk); err != nil {
		return err
	}
	if c.Out != "-" {
		if err := checkOut(c.Out); err != nil {
			return err
		}
	}
	m, _, done, err := c.openModel()
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	r, err := model.Logits(ctx, m, ids, model.LogitsOptions{All: c.All, Layers: c.Layers, Chunk: c.Chunk})
	if err != nil {
		return err
	}
	out := os.Stdout
	if c.Out != "-" {
		if out, err = os.Create(c.Out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	err = json.NewEncoder(out).Encode(r)
	if c.Out != "-" {
		err = errors.Join(err, out.Close())
	}
	return err
}

func parseIDs(s string) ([]int32, error) {
	var out []int32
	for f := range strings.SplitSeq(s, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("got %q, want token ids such as 1,2,3", f)
		}
		out = append(out, int32(id))
	}
	return out, nil
}
