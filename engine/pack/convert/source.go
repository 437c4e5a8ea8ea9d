package convert

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// ErrInexact marks a source that has codes where the recipe wants others.
var ErrInexact = errors.New("convert: would not be exact")

// Source is a pack as an [mlx.Values].
type Source struct {
	p       *pack.Pack
	experts map[string]*pack.Rows // opened with their layer, and not asked for yet
}

// From takes a pack whose trunk is whole ([pack.Pack.Verify]) and whose hash constants, if it ships any, are those of its
// config. The pack must stay open while its numbers are read.
func From(p *pack.Pack) (*Source, error) {
	if err := p.Verify(); err != nil {
		return nil, err
	}
	for k := range p.Config.PLELayers {
		if _, err := p.HashConstants(k); err != nil {
			return nil, err
		}
	}
	return &Source{p: p, experts: map[string]*pack.Rows{}}, nil
}

// Head says whether the pack has a head that can be written, and if not, why.
func (s *Source) Head() (bool, string) { return s.p.HasMTP() }

// Rows opens a matrix, or one of a layer's stacks of experts.
func (s *Source) Rows(m mlx.Weights, f quantise.Format) (mlx.Rows, error) {
	r, err := s.open(m)
	if err != nil {
		return mlx.Rows{}, err
	}
	return s.feed(r, m.Name, f)
}

func (s *Source) open(m mlx.Weights) (*pack.Rows, error) {
	layer, _, stacked := strings.Cut(m.Name, ".switch_mlp.")
	if !stacked {
		return s.p.MatrixRows(m.Name, m.Rows, m.Cols)
	}
	if s.experts[m.Name] == nil {
		gate, up, down, err := s.p.ExpertRows(layer)
		if err != nil {
			return nil, err
		}
		for what, r := range map[string]*pack.Rows{"gate_proj": gate, "up_proj": up, "down_proj": down} {
			s.experts[layer+".switch_mlp."+what] = r
		}
	}
	r := s.experts[m.Name]
	delete(s.experts, m.Name) // it is its reader's alone
	return r, nil
}

// feed passes codes on if they are of the format that is wanted, and widens floats.
func (s *Source) feed(r *pack.Rows, module string, f quantise.Format) (mlx.Rows, error) {
	if r.Bits() == 0 {
		return mlx.Rows{Values: r.Values}, nil
	}
	have := quantise.Format{Bits: r.Bits(), Group: r.Group}
	if have != f || !r.Exact() {
		return mlx.Rows{}, fmt.Errorf("%w: module %q of %s is %v already and would become %v: convert from the bf16 checkpoint, or with the recipe it was made with",
			ErrInexact, module, s.p.Name, have, f)
	}
	return mlx.Rows{Codes: r.Codes}, nil
}

// Norm is a norm's weight as it is stored; the MLX layout has folded it.
func (s *Source) Norm(name string, n int) ([]float32, bool, error) {
	w, err := s.p.Vector(name, n)
	return w, s.p.Layout == pack.MLX, err
}

// Vector is values as they are stored.
func (s *Source) Vector(name string, n int) ([]float32, pack.DType, error) {
	w, err := s.p.Vector(name, n)
	return w, s.p.DType(name), err
}

// Conv is a convolution [channels][taps].
func (s *Source) Conv(name string, channels, taps int) ([]float32, error) {
	w, err := s.p.Conv(name, channels, taps)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(w))
	for ch := range channels {
		for j := range taps {
			out[ch*taps+j] = w[j*channels+ch]
		}
	}
	return out, nil
}

// Table opens the table of the k-th PLE layer: its shards one after the other.
func (s *Source) Table(k int, f func(dim int) quantise.Format) (mlx.Weights, mlx.Rows, error) {
	r, err := s.p.TableRows(k)
	if err != nil {
		return mlx.Weights{}, mlx.Rows{}, err
	}
	m := mlx.Weights{Name: r.Name, Stack: r.Parts, Rows: r.Rows, Cols: r.Cols}
	rows, err := s.feed(r, r.Name, f(r.Cols))
	return m, rows, err
}
