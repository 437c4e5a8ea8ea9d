package packtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
)

// NoPrefix as Options.Prefix writes canonical names without any prefix.
const NoPrefix = "none"

// Options says how a pack is written. The zero value is an HF pack in bf16: one file, prefix "model.", fused experts, the
// n-gram table in one tensor, no hash buffers, no MTP head.
type Options struct {
	Layout pack.Layout
	Prefix string     // "" is the layout's own ("model.", "language_model.model."); NoPrefix for none
	DType  pack.DType // F32, F16 or BF16 (the default); the MLX layout writes bf16 where it does not quantise
	Bits   int        // MLX: 0 unquantised, 8 (groups of 64 or 32), 4 (the released recipe: 4/32 and 8/64)

	PerExpert   bool // HF: one tensor per expert
	Transposed  bool // HF: fused experts in the transposed orientation
	Shards      int  // above 1: so many files and an index
	TableShards int  // HF: shard_0 .. of equal rows; 0 is one tensor. Padded rows must divide
	TableBits   int  // MLX: 0 (bf16), 4 or 8, groups of 32 or 16 or 8
	HashBuffers bool // write the three int64 hash buffers of each PLE layer
	WithMTP     bool
	Tied        bool // tie embeddings even if the geometry does not

	Files map[string]string // further files (tokenizer.json), or replacements
}

// Files makes a pack in memory: its files by name.
func Files(g Geometry, seed uint64, o Options) (map[string]string, error) {
	b, err := newBuilder(g, seed, o)
	if err != nil {
		return nil, fmt.Errorf("packtest: %w", err)
	}
	if b.o.TableBits > 0 && b.tableGroup() == 0 {
		return nil, fmt.Errorf("packtest: table bits: got %d, but no group divides rows of %d", b.o.TableBits, b.rowDim())
	}
	b.model()
	files, err := b.files()
	if err != nil {
		return nil, fmt.Errorf("packtest: %w", err)
	}
	for name, text := range o.Files {
		files[name] = text
	}
	return files, nil
}

// Write makes a pack in a folder, which must exist.
func Write(dir string, g Geometry, seed uint64, o Options) error {
	files, err := Files(g, seed, o)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Open makes a pack in memory and opens it; it is closed when the test ends.
func Open(t testing.TB, g Geometry, seed uint64, o Options) *pack.Pack {
	t.Helper()
	files, err := Files(g, seed, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(pack.Files("random", files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
