package pack_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal"
)

// runs reads all parts by runs of n rows.
func runs(t *testing.T, r *pack.Rows, n int) []float32 {
	t.Helper()
	var out []float32
	for part := range r.Parts {
		for from := 0; from < r.Rows; from += n {
			dst := make([]float32, min(n, r.Rows-from)*r.Cols)
			if err := r.Values(dst, part, from); err != nil {
				t.Fatal(err)
			}
			out = append(out, dst...)
		}
	}
	return out
}

// Rows gives the values that the loader's specs hold, whatever the container and however the rows are cut; and of codes the
// bytes.
func TestRows(t *testing.T) {
	for name, o := range map[string]packtest.Options{
		"bf16":          {},
		"f32":           {DType: pack.F32},
		"f16":           {DType: pack.F16, Tied: true},
		"per expert":    {PerExpert: true},
		"transposed":    {Transposed: true},
		"table shards":  {TableShards: 4},
		"mlx":           {Layout: pack.MLX},
		"mlx, 8 bit":    {Layout: pack.MLX, Bits: 8, TableBits: 8},
		"mlx, 4 bit":    {Layout: pack.MLX, Bits: 4, TableBits: 4},
		"mlx, two kind": {Layout: pack.MLX, Bits: 4},
	} {
		t.Run(name, func(t *testing.T) {
			p := packtest.Open(t, packtest.Tiny(), 2, o)
			check := func(r *pack.Rows, err error, w metal.WeightSpec) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				if r.Parts != len(w.Parts) || r.Rows != w.Rows || r.Cols != w.Cols || r.Format != w.Format || r.Group != w.Group {
					t.Fatalf("%s: got %d x [%d %d] %v/%d, want %d x [%d %d] %v/%d", r.Name, r.Parts, r.Rows, r.Cols, r.Format, r.Group,
						len(w.Parts), w.Rows, w.Cols, w.Format, w.Group)
				}
				want := values(t, w)
				for _, n := range []int{1, 7, r.Rows} {
					if got := runs(t, r, n); !slices.Equal(got, want) {
						t.Errorf("%s: runs of %d rows: values differ", r.Name, n)
					}
				}
				if r.Bits() == 0 {
					return
				}
				for part := range r.Parts {
					x := w.Parts[part]
					weight, scales, biases := make([]byte, len(x.Data)), make([]byte, len(x.Scales)), make([]byte, len(x.Biases))
					if err := r.Codes(weight, scales, biases, part, 0); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(weight, x.Data) || !bytes.Equal(scales, x.Scales) || !bytes.Equal(biases, x.Biases) || !r.Exact() {
						t.Errorf("%s: part %d: codes differ", r.Name, part)
					}
				}
			}
			c := &p.Config
			for _, x := range c.Trunk() {
				switch x.Kind {
				case pack.Matrix:
					w, err := p.Linear(x.Name, x.Rows, x.Cols)
					if err != nil {
						t.Fatal(err)
					}
					r, err := p.MatrixRows(x.Name, x.Rows, x.Cols)
					check(r, err, w)
				case pack.Experts:
					gate, up, down, err := p.Experts(x.Name)
					if err != nil {
						t.Fatal(err)
					}
					g, u, d, err := p.ExpertRows(x.Name)
					check(g, err, gate)
					check(u, err, up)
					check(d, err, down)
				case pack.Table:
					spec, err := p.NgramTable(x.Index)
					if err != nil {
						t.Fatal(err)
					}
					r, err := p.TableRows(x.Index)
					if err != nil {
						t.Fatal(err)
					}
					if got := runs(t, r, 7); !slices.Equal(got, rows(t, spec)) {
						t.Errorf("%s: values differ", r.Name)
					}
				}
			}
		})
	}
	p := packtest.Open(t, packtest.Tiny(), 2, packtest.Options{})
	if _, err := p.MatrixRows("lm_head", 257, 64); err == nil {
		t.Error("wrong shape: got no error")
	}
	if _, _, _, err := p.ExpertRows("layers.77.mlp"); err == nil {
		t.Error("no such layer: got no error")
	}
}

// A pack without its codes means the same: exactly as f32.
func TestDequantise(t *testing.T) {
	g := packtest.Tiny()
	g.PLEDim = 128
	for _, o := range []packtest.Options{{Layout: pack.MLX, Bits: 4, TableBits: 4, WithMTP: true}, {Layout: pack.MLX, Bits: 8, Shards: 2}} {
		files, err := packtest.Files(g, 3, o)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := packtest.Dequantise(files, pack.F32)
		if err != nil {
			t.Fatal(err)
		}
		open := func(files map[string]string) *pack.Pack {
			p, err := pack.Open(pack.Files("x", files))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Verify(); err != nil {
				t.Fatal(err)
			}
			return p
		}
		a, b := open(files), open(plain)
		if n := b.Summary().Formats["q4/32"] + b.Summary().Formats["q8/64"]; n != 0 {
			t.Errorf("got %d parameters in codes, want none", n)
		}
		want := contents(t, a)
		for name, got := range contents(t, b) {
			if !slices.Equal(got, want[name]) {
				t.Errorf("%s: values differ", name)
			}
		}
	}
}
