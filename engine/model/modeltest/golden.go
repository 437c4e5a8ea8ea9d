package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
)

// Golden is a folder of golden vectors.
type Golden struct {
	t   testing.TB
	dir string
}

// OpenGolden returns the folder's reader.
func OpenGolden(t testing.TB, dir string) Golden { return Golden{t, dir} }

// NanoBF16 opens the bf16 pack and its vectors, which are too large to keep here; where they are not, the test says that it
// did not run.
func NanoBF16(t testing.TB) (*pack.Pack, Golden) {
	t.Helper()
	dir := os.Getenv("FLASHLANE_GOLDEN_DIR")
	if dir == "" {
		t.Skip("NOT TESTED: the bf16 pack against its golden vectors. Set FLASHLANE_GOLDEN_DIR to the folder that has pack/nano and golden/nano")
	}
	src, err := pack.Dir(filepath.Join(dir, "pack", "nano"))
	if err != nil {
		t.Fatal(err)
	}
	return Open(t, src), OpenGolden(t, filepath.Join(dir, "golden", "nano"))
}

// JSON reads a file into v.
func (g Golden) JSON(name string, v any) {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
}

// Tensors is a safetensors file with F32 and I32 tensors.
type Tensors struct {
	t      testing.TB
	name   string
	header map[string]entry
	data   []byte
}

type entry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Tensors opens a safetensors file.
func (g Golden) Tensors(name string) Tensors {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b)
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(b[8:8+n], &raw); err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	delete(raw, "__metadata__")
	f := Tensors{t: g.t, name: name, header: map[string]entry{}, data: b[8+n:]}
	for k, v := range raw {
		var e entry
		if err := json.Unmarshal(v, &e); err != nil {
			g.t.Fatalf("%s: %s: %v", name, k, err)
		}
		f.header[k] = e
	}
	return f
}

// Has reports whether there is such a tensor.
func (f Tensors) Has(name string) bool {
	_, ok := f.header[name]
	return ok
}

func (f Tensors) words(name, dtype string) ([]uint32, []int) {
	f.t.Helper()
	e, ok := f.header[name]
	if !ok || e.DType != dtype {
		f.t.Fatalf("%s: tensor %s: got %q, want %s", f.name, name, e.DType, dtype)
	}
	b := f.data[e.Offsets[0]:e.Offsets[1]]
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w, e.Shape
}

// Rows reads an F32 tensor as rows of its last axis.
func (f Tensors) Rows(name string) [][]float32 {
	f.t.Helper()
	w, shape := f.words(name, "F32")
	cols := shape[len(shape)-1]
	rows := make([][]float32, len(w)/cols)
	for r := range rows {
		rows[r] = make([]float32, cols)
		for i := range rows[r] {
			rows[r][i] = math.Float32frombits(w[r*cols+i])
		}
	}
	return rows
}

// IntRows reads an I32 tensor as rows of its last axis.
func (f Tensors) IntRows(name string) [][]int32 {
	f.t.Helper()
	w, shape := f.words(name, "I32")
	cols := shape[len(shape)-1]
	rows := make([][]int32, len(w)/cols)
	for r := range rows {
		rows[r] = make([]int32, cols)
		for i := range rows[r] {
			rows[r][i] = int32(w[r*cols+i])
		}
	}
	return rows
}
