package mlx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/quantise"
	"github.com/flashlane/flashlane/engine/pack/write"
)

// The files of the layout beside the trunk's.
const (
	trunkStem = "model"
	tableFile = "ngram-table.safetensors"
	headFile  = "mtp.safetensors"
)

// DefaultShard is the usual size of a trunk file.
const DefaultShard = 5 << 30

// Options of NewPlan.
type Options struct {
	Recipe quantise.Recipe
	Head   bool  // write the MTP head
	Shard  int64 // most bytes of data in one trunk file; 0: DefaultShard
	Sparse bool  // leave n-gram tables a hole in the file: all rows are zero, scales and biases too
}

// Plan is a pack that could be written: every tensor, its file and its place. It is made without writing anything.
type Plan struct {
	config  *pack.Config
	o       Options
	entries []entry
	rules   map[string]quantise.Format // of quantised modules, by name in the file
	tables  []entry                    // of entries, those of the side-car
}

// entry is one thing to be written: a matrix of one or three planes, or a small tensor whose bytes are known.
type entry struct {
	name    string // in the file, without the plane's suffix
	file    place
	tensors []write.Tensor // weight, scales, biases; or one
	format  quantise.Format
	weights Weights
	rows    Rows
	data    []byte // of a small tensor
}

type place uint8

const (
	inTrunk place = iota
	inTable
	inHead
)

func (e *entry) bytes() (n int64) {
	for _, t := range e.tensors {
		n += t.Bytes()
	}
	return n
}

// NewPlan lays out the model c with numbers from v. Errors name the tensor.
func NewPlan(c *pack.Config, v Values, o Options) (*Plan, error) {
	if o.Shard == 0 {
		o.Shard = DefaultShard
	}
	p := &Plan{config: c, o: o, rules: map[string]quantise.Format{}}
	list := c.Trunk()
	if o.Head {
		list = append(list, c.Head()...)
	}
	var errs []error
	for _, x := range list {
		if err := p.add(x, v); err != nil {
			errs = append(errs, err)
			if len(errs) == 20 {
				errs = append(errs, errors.New("and perhaps more"))
				break
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortStableFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return p, nil
}

// add takes a piece of the model in.
func (p *Plan) add(x pack.Piece, v Values) error {
	switch x.Kind {
	case pack.Matrix:
		if x.Name == "lm_head" && p.config.Tied {
			return nil
		}
		return p.matrix(Weights{Name: x.Name, Rows: x.Rows, Cols: x.Cols}, v)
	case pack.Experts:
		sw := x.Name + ".switch_mlp."
		return errors.Join(
			p.matrix(Weights{Name: sw + "gate_proj", Stack: x.Stack, Rows: x.Rows, Cols: x.Cols}, v),
			p.matrix(Weights{Name: sw + "up_proj", Stack: x.Stack, Rows: x.Rows, Cols: x.Cols}, v),
			p.matrix(Weights{Name: sw + "down_proj", Stack: x.Stack, Rows: x.Cols, Cols: x.Rows}, v))
	case pack.Norm:
		return p.norm(x, v)
	case pack.Vector:
		return p.vector(x, v)
	case pack.Conv:
		return p.conv(x, v)
	case pack.Ints:
		return p.ints(x)
	case pack.Table:
		return p.table(x, v)
	}
	panic(fmt.Sprintf("mlx: piece %s of kind %d", x.Name, x.Kind))
}

func (p *Plan) matrix(m Weights, v Values) error {
	f := p.o.Recipe.Module(m.Name, m.Cols)
	rows, err := v.Rows(m, f)
	if err != nil {
		return err
	}
	name, file := fileName(m.Name)
	if f.Quantised() {
		p.rules[name] = f
	}
	p.entries = append(p.entries, entry{name: name, file: file, tensors: planes(name, m, f), format: f, weights: m, rows: rows})
	return nil
}

// fileName is a canonical name as the layout has it, and the file it lies in.
func fileName(name string) (string, place) {
	switch {
	case strings.HasPrefix(name, "mtp."):
		return name, inHead
	case name == "lm_head":
		return "language_model.lm_head", inTrunk
	}
	return "language_model.model." + name, inTrunk
}

// planes are the tensors of a matrix.
func planes(name string, m Weights, f quantise.Format) []write.Tensor {
	shape := func(cols int) []int64 {
		if m.Stack > 0 {
			return []int64{int64(m.Stack), int64(m.Rows), int64(cols)}
		}
		return []int64{int64(m.Rows), int64(cols)}
	}
	if !f.Quantised() {
		return []write.Tensor{{Name: name + ".weight", DType: pack.BF16, Shape: shape(m.Cols)}}
	}
	return []write.Tensor{
		{Name: name + ".weight", DType: pack.U32, Shape: shape(m.Cols * f.Bits / 32)},
		{Name: name + ".scales", DType: pack.BF16, Shape: shape(m.Cols / f.Group)},
		{Name: name + ".biases", DType: pack.BF16, Shape: shape(m.Cols / f.Group)},
	}
}

// table lays the planes of one PLE layer's rows out.
func (p *Plan) table(x pack.Piece, v Values) error {
	var f quantise.Format
	m, rows, err := v.Table(x.Index, func(dim int) quantise.Format {
		f = p.o.Recipe.Table(dim)
		return f
	})
	if err != nil {
		return err
	}
	name := "ngram"
	if x.Index > 0 {
		name += "." + strconv.Itoa(x.Index)
	}
	flat := Weights{Name: m.Name, Rows: m.parts() * m.Rows, Cols: m.Cols} // the planes have no axis for shards
	e := entry{name: name, file: inTable, tensors: planes(name, flat, f), format: f, weights: m, rows: rows}
	p.entries, p.tables = append(p.entries, e), append(p.tables, e)
	return nil
}

// Bytes is the length of all tensors, and how much of it is written to the disk: a sparse table is not.
func (p *Plan) Bytes() (all, written int64) {
	for i := range p.entries {
		n := p.entries[i].bytes()
		all += n
		if !p.hole(&p.entries[i]) {
			written += n
		}
	}
	return all, written
}

// hole says that an entry's data is not written.
func (p *Plan) hole(e *entry) bool { return p.o.Sparse && e.file == inTable }

// Table is an n-gram table as it will be written.
type Table struct {
	Rows   int64
	Dim    int
	Format quantise.Format
	Bytes  int64
	Sparse bool
}

// Tables tells of the side-car, one entry for each PLE layer.
func (p *Plan) Tables() []Table {
	var out []Table
	for _, e := range p.tables {
		out = append(out, Table{Rows: e.tensors[0].Shape[0], Dim: e.weights.Cols, Format: e.format, Bytes: e.bytes(), Sparse: p.o.Sparse})
	}
	return out
}
