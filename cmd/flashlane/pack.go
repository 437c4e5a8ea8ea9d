package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/flashlane/flashlane/engine/pack"
)

type packCmd struct {
	Inspect inspectCmd `cmd:"" help:"List a pack's geometry and tensors, and whether it is whole."`
	Convert convertCmd `cmd:"" help:"Write a pack anew in the quantised MLX layout."`
	Verify  verifyCmd  `cmd:"" help:"Check a pack to the last byte, against its manifest if it has one."`
	Synth   synthCmd   `cmd:"" help:"Write a random pack of any geometry and size, to measure and test with."`
}

type inspectCmd struct {
	Dir     string `arg:"" help:"Folder of the pack."`
	Tensors bool   `help:"List every tensor."`
}

// Run prints what pack.Open and Pack.Verify found.
func (c inspectCmd) Run() error {
	if c.Dir == "" {
		return errors.New("got an empty name, want the folder of a pack")
	}
	src, err := pack.Dir(c.Dir)
	if err != nil {
		return err
	}
	p, err := pack.Open(src)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	g := p.Config
	fmt.Fprintf(w, "pack\t%s\nlayout\t%s\nfingerprint\t%s\n", p.Name, p.Layout, p.Fingerprint())
	fmt.Fprintf(w, "geometry\tvocab %d, hidden %d, %d layers, %d streams, %d experts (top %d), context %d\n",
		g.Vocab, g.Hidden, g.Layers, g.Streams, g.Experts, g.TopK, g.MaxPositions)
	fmt.Fprintf(w, "sparse attention\tbudget %d tokens, blocks of %d\n", g.IndexBudget, g.IndexRatio)
	fmt.Fprintf(w, "PLE layers\t%v (from 0), n-gram size %d, %d heads per order\n", g.PLELayers, g.NgramSize, g.HeadsPerNgram)
	if ok, why := p.HasMTP(); ok {
		fmt.Fprintf(w, "MTP head\tyes\n")
	} else {
		fmt.Fprintf(w, "MTP head\tno: %s\n", why)
	}
	summary(w, p.Tensors())
	if c.Tensors {
		fmt.Fprintf(w, "\ntensor\tfile\tdtype\tshape\tbytes\tuse\n")
		for _, t := range p.Tensors() {
			fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%d\t%s\n", t.Name, t.File, t.DType, t.Shape, t.Bytes, t.Use)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	whole, head, stray := p.Verify(), p.HeadFault(), p.StrayTensors()
	if err := errors.Join(whole, p.Close()); err != nil {
		return fmt.Errorf("the pack is not whole: %w", err)
	}
	for _, t := range stray {
		fmt.Printf("%s: tensor %q is no piece of the model: nothing of it is used\n", t.File, t.Name)
	}
	if head != nil {
		return fmt.Errorf("the trunk is whole, but the MTP head cannot be used, so that the pack is served at depth 0: %w", head)
	}
	fmt.Println("the pack is whole: every tensor is there, in a shape the engine takes")
	return nil
}

// summary adds tensors up by use and format.
func summary(w *tabwriter.Writer, tensors []pack.TensorInfo) {
	type key struct{ use, format string }
	type sum struct {
		n             int
		params, bytes int64
	}
	sums := map[key]*sum{}
	var keys []key
	for _, t := range tensors {
		k := key{t.Use, t.Format}
		if sums[k] == nil {
			sums[k] = &sum{}
			keys = append(keys, k)
		}
		sums[k].n++
		sums[k].params += t.Params
		sums[k].bytes += t.Bytes
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.use, b.use), cmp.Compare(a.format, b.format)) })
	fmt.Fprintf(w, "\nuse\tformat\ttensors\tparameters\tbytes\n")
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", k.use, k.format, sums[k].n, sums[k].params, sums[k].bytes)
	}
}
