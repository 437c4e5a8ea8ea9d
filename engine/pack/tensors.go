package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/ple"
)

// maxShards bounds the files an index may name.
const maxShards = 1 << 14

// tensor is one tensor of a pack, where it lies.
type tensor struct {
	span
	canon string // name without prefix
	file  *file
}

// file is one safetensors file of a pack.
type file struct {
	name   string
	blob   *Blob
	header *header
}

// data is the tensor's bytes in place.
func (t *tensor) data() []byte { return t.file.blob.Data[t.begin:t.end:t.end] }

// plane is where the bytes lie, in memory and in their file if there is one: which of them is read is for
// ple.TableSpec.Place to settle.
func (t *tensor) plane() ple.Span {
	return ple.Span{Data: t.data(), Mapping: t.file.blob.Mapped, File: t.file.blob.File, Off: t.begin, Len: t.end - t.begin}
}

// describe names the tensor in errors: file, name as written, shape and type.
func (t *tensor) describe() string {
	return fmt.Sprintf("%s: tensor %q: got shape %v %s", t.file.name, t.name, t.shape, t.dtype)
}

// archive is the union of a pack's safetensors files.
type archive struct {
	src     Source
	files   []*file
	tensors map[string]*tensor // by canonical name
}

// open reads a file's header and adds its tensors.
func (a *archive) open(name string) (*file, error) {
	for _, f := range a.files {
		if f.name == name {
			return f, nil
		}
	}
	blob, err := a.src.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault{kind: ErrMissing, under: err, text: fmt.Sprintf("%s: no such file in the pack", name)}
	}
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(blob.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &file{name: name, blob: blob, header: h}
	a.files = append(a.files, f)
	for i := range h.spans {
		t := &tensor{span: h.spans[i], canon: canonical(h.spans[i].name), file: f}
		if old := a.tensors[t.canon]; old != nil {
			return nil, corrupt("%s: tensor %q is the same as %q in %s", name, t.name, old.name, old.file.name)
		}
		a.tensors[t.canon] = t
	}
	return f, nil
}

// openTrunk opens model.safetensors, or the shards that model.safetensors.index.json names.
func (a *archive) openTrunk() error {
	const single, indexName = "model.safetensors", "model.safetensors.index.json"
	_, err := a.open(single)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	blob, err := a.src.Open(indexName)
	if errors.Is(err, fs.ErrNotExist) {
		return &fault{kind: ErrMissing, under: err, text: "neither " + single + " nor " + indexName + " is in the pack"}
	}
	if err != nil {
		return err
	}
	index, err := readIndex(indexName, blob.Data)
	if err != nil {
		return err
	}
	for _, shard := range slices.Sorted(maps.Keys(index)) {
		_, err := a.open(shard)
		if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(index[shard], func(n string) bool { return !foreign(canonical(n)) }) {
			continue // a shard of the vision tower only, left out by whoever copied the pack
		}
		if err != nil {
			return fmt.Errorf("%s: %w", indexName, err)
		}
		for _, name := range index[shard] {
			if t := a.tensors[canonical(name)]; t == nil || t.file.name != shard {
				return missing("%s: tensor %q is not in %s, where the index says it is", indexName, name, shard)
			}
		}
	}
	return nil
}

// readIndex returns the tensor names of each shard.
func readIndex(file string, data []byte) (map[string][]string, error) {
	f, err := readFields(file, data)
	if err != nil {
		return nil, err
	}
	m := f.object("weight_map")
	if *f.err != nil {
		return nil, *f.err
	}
	if m == nil || len(m.m) == 0 {
		return nil, missing("%s: weight_map is missing or empty", file)
	}
	shards := map[string][]string{}
	for name, v := range m.m {
		shard, ok := v.(string)
		if !ok || plainName(shard) != nil || !strings.HasSuffix(shard, ".safetensors") {
			return nil, corrupt("%s: weight_map %q: got %s, want a safetensors file inside the pack's folder", file, name, describe(v))
		}
		shards[shard] = append(shards[shard], name)
		if len(shards) > maxShards {
			return nil, corrupt("%s: more than %d shards", file, maxShards)
		}
	}
	for _, names := range shards {
		slices.Sort(names)
	}
	return shards, nil
}
