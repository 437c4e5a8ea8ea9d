package pack

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/ple"
)

// NgramGeometry is the n-gram part of the config as package ple takes it.
func (c *Config) NgramGeometry() ple.Geometry {
	return ple.Geometry{
		Vocab: c.Vocab, NgramSize: c.NgramSize, Heads: c.HeadsPerNgram,
		Base: c.NgramBase, Divisor: c.NgramDivisor, Seed: c.NgramSeed, EOS: c.NgramEOS, Dim: c.PLEDim,
	}
}

// HashConstants are those of the k-th PLE layer, as config.json makes them (spec 2.7.1). Constants that the pack ships must be
// the same; it need not ship any.
func (p *Pack) HashConstants(k int) (ple.Constants, error) {
	l := lookup{p: p}
	c, err := l.constants(k)
	return c, named(p.Name, err)
}

func (l *lookup) constants(k int) (ple.Constants, error) {
	c := &l.p.Config
	want, err := ple.Derive(c.NgramGeometry(), k)
	if err != nil {
		return want, &fault{kind: ErrCorrupt, under: err, text: "config.json: " + err.Error()}
	}
	shipped := ple.Constants{Multipliers: want.Multipliers, Sizes: want.Sizes, Offsets: want.Offsets}
	prefix := fmt.Sprintf("layers.%d.ple.ple_embedding", c.PLELayers[k])
	mult, ok, err := l.ints(prefix+".layer_multipliers", c.NgramSize)
	if err != nil {
		return want, err
	}
	if ok {
		shipped.Multipliers = make([]uint64, len(mult))
		for i, m := range mult {
			shipped.Multipliers[i] = uint64(m)
		}
	}
	for _, b := range []struct {
		name string
		dst  *[]int64
	}{{".ngram_heads_vocab_sizes", &shipped.Sizes}, {".ngram_heads_offsets", &shipped.Offsets}} {
		list, ok, err := l.ints(prefix+b.name, c.NgramHeads())
		if err != nil {
			return want, err
		}
		if ok {
			*b.dst = list
		}
	}
	if err := want.Equal(shipped); err != nil {
		return want, &fault{kind: ErrCorrupt, under: err, text: prefix + ": " + err.Error()}
	}
	return want, nil
}

// NgramTable describes the table of the k-th PLE layer (k from 0, as in Config.PLELayers) where it lies: the side-car's
// planes "ngram.weight|scales|biases" ("ngram.1.weight" for the second layer), HF's shards, or HF's single tensor. It
// has at least the rows that the hash can ask for. Where rows are read from is for its Place to settle.
func (p *Pack) NgramTable(k int) (ple.TableSpec, error) {
	l := lookup{p: p}
	spec, err := l.table(k)
	return spec, named(p.Name, err)
}

func (l *lookup) table(k int) (ple.TableSpec, error) {
	c := &l.p.Config
	if k < 0 || k >= len(c.PLELayers) {
		return ple.TableSpec{}, missing("n-gram table %d: the model has %d PLE layers", k, len(c.PLELayers))
	}
	side := "ngram."
	if k > 0 {
		side = fmt.Sprintf("ngram.%d.", k)
	}
	var spec ple.TableSpec
	var err error
	if l.has(side + "weight") {
		spec, err = l.sideTable(side, k)
	} else {
		spec, err = l.shardTable(fmt.Sprintf("layers.%d.ple.ple_embedding.ngram_embedding.", c.PLELayers[k]), side)
	}
	if err != nil {
		return spec, err
	}
	if err := spec.Validate(); err != nil {
		return spec, &fault{kind: ErrCorrupt, under: err, text: err.Error()}
	}
	consts, err := ple.Derive(c.NgramGeometry(), k)
	if err != nil {
		return spec, &fault{kind: ErrCorrupt, under: err, text: "config.json: " + err.Error()}
	}
	if want := consts.Total(); spec.Rows < want {
		return spec, corrupt("tensor %q: got %d rows, want at least %d, which the n-gram hash of config.json can ask for", spec.Name, spec.Rows, want)
	}
	return spec, nil
}

// sideTable reads one layer's planes of the side-car.
func (l *lookup) sideTable(side string, k int) (ple.TableSpec, error) {
	dim := l.p.Config.RowDim()
	t, err := l.find(side + "weight")
	if err != nil {
		return ple.TableSpec{}, err
	}
	if len(t.shape) != 2 {
		return ple.TableSpec{}, corrupt("%s, want two axes", t.describe())
	}
	spec := ple.TableSpec{Name: t.name, Rows: t.shape[0], Dim: dim}
	shard := ple.Shard{Rows: spec.Rows, Weight: t.plane()}
	bits := 0
	if t.dtype == U32 {
		scales, err := l.find(side + "scales")
		if err != nil {
			return spec, err
		}
		biases, err := l.find(side + "biases")
		if err != nil {
			return spec, err
		}
		if len(scales.shape) != 2 {
			return spec, corrupt("%s, want two axes", scales.describe())
		}
		if spec.Format, bits, spec.Group, err = affine(t, scales, dim); err != nil {
			return spec, err
		}
		for _, s := range []*tensor{scales, biases} {
			if s.dtype != BF16 {
				return spec, unsupported("%s, want BF16", s.describe())
			}
			if err := shaped(s, []int64{spec.Rows, int64(dim / spec.Group)}); err != nil {
				return spec, err
			}
		}
		shard.Scales, shard.Biases = scales.plane(), biases.plane()
	} else {
		if spec.Format, err = t.format(); err != nil {
			return spec, err
		}
		if err := shaped(t, []int64{spec.Rows, int64(dim)}); err != nil {
			return spec, err
		}
	}
	spec.Shards = []ple.Shard{shard}
	return spec, sideMetadata(t, k, bits, spec)
}

// sideMetadata compares what the side-car says about itself with its first table. A key that is absent is not missed.
func sideMetadata(t *tensor, k, bits int, spec ple.TableSpec) error {
	if k > 0 {
		return nil // the keys describe the first table
	}
	for _, m := range []struct {
		key string
		got int64
	}{
		{"ngram_bits", int64(bits)},
		{"ngram_group_size", int64(spec.Group)},
		{"rows", spec.Rows},
		{"dim", int64(spec.Dim)},
	} {
		text, ok := t.file.header.metadata[m.key]
		if !ok || m.key == "ngram_group_size" && bits == 0 { // of no meaning without quantisation
			continue
		}
		want, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return corrupt("%s: __metadata__ %q: got %q, want an integer", t.file.name, m.key, text)
		}
		if m.key == "ngram_bits" && bits == 0 && want == 16 { // bf16 said in bits
			continue
		}
		if want != m.got {
			return corrupt("%s: __metadata__ %q: got %d, want %d by the shapes and types of %s", t.file.name, m.key, want, m.got, spec.Name)
		}
	}
	return nil
}

// shardTable reads HF's shard_0, shard_1, ... or the single weight under prefix.
func (l *lookup) shardTable(prefix, side string) (ple.TableSpec, error) {
	dim := l.p.Config.RowDim()
	var parts []*tensor
	if l.has(prefix + "weight") {
		t, err := l.find(prefix + "weight")
		if err != nil {
			return ple.TableSpec{}, err
		}
		parts = append(parts, t)
	} else {
		count := 0
		for name := range l.p.arch.tensors {
			if strings.HasPrefix(name, prefix+"shard_") {
				count++
			}
		}
		if count == 0 {
			return ple.TableSpec{}, missing("the n-gram table is in no file of the pack: want tensor %q, %q or %q", prefix+"shard_0.weight", prefix+"weight", side+"weight")
		}
		for i := range count {
			t, err := l.find(fmt.Sprintf("%sshard_%d.weight", prefix, i))
			if err != nil {
				return ple.TableSpec{}, fmt.Errorf("n-gram table of %d shards: %w", count, err)
			}
			parts = append(parts, t)
		}
	}
	spec := ple.TableSpec{Name: parts[0].name, Dim: dim}
	for _, t := range parts {
		if len(t.shape) != 2 || t.shape[0] != parts[0].shape[0] || t.shape[1] != int64(dim) {
			return spec, corrupt("%s, want two axes, the rows of every shard equal and %d columns", t.describe(), dim)
		}
		format, err := t.format()
		if err != nil {
			return spec, err
		}
		if t == parts[0] {
			spec.Format = format
		} else if format != spec.Format {
			return spec, unsupported("%s, want %s as in shard 0", t.describe(), parts[0].dtype)
		}
		spec.Rows += t.shape[0]
		spec.Shards = append(spec.Shards, ple.Shard{Rows: t.shape[0], Weight: t.plane()})
	}
	return spec, nil
}
