package mlx

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// Values is where a pack's numbers come from. Names are canonical ([pack.Piece]); a layer's experts are the three stacks
// "layers.3.mlp.switch_mlp.gate_proj", up_proj and down_proj. Its methods are called while the plan is made, in order, so
// that what cannot be written is refused before anything is; the functions of [Rows] are called later, one goroutine each.
type Values interface {
	// Rows opens a matrix, or a stack of them, that will be written in the format.
	Rows(m Weights, f quantise.Format) (Rows, error)
	// Norm is the weight of a zero-centred norm; folded says that it is 1+w already.
	Norm(name string, n int) (w []float32, folded bool, err error)
	// Vector is values that are stored as they are, and the type they come in.
	Vector(name string, n int) ([]float32, pack.DType, error)
	// Conv is a depthwise convolution [channels][taps].
	Conv(name string, channels, taps int) ([]float32, error)
	// Table opens the n-gram table of the k-th PLE layer: rows and columns are the source's.
	Table(k int, f func(dim int) quantise.Format) (Weights, Rows, error)
}

// Weights is a matrix [Rows, Cols] (out, in), or a stack of them if Stack is not 0.
type Weights struct {
	Name              string
	Stack, Rows, Cols int
}

// parts is the number of matrices.
func (m Weights) parts() int { return max(m.Stack, 1) }

// Rows reads a matrix by runs of rows. It has one of the two functions: Values gives floats, which are then encoded;
// Codes gives the planes in the very format that was asked for, for sources that have them. Both fill their slices with
// whole rows of matrix part, from row from on.
type Rows struct {
	Values func(dst []float32, part, from int) error
	Codes  func(weight, scales, biases []byte, part, from int) error
}
