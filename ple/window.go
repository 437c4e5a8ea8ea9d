package ple

import (
	"fmt"

	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/metal"
)

// Window is a run of consecutive rows of one sequence, with what every PLE layer makes of their tokens alone. It lives
// with a request and is reused from round to round: Reset, Push the tokens as they become known, Read their table rows,
// Make, use the planes.
//
// Until Gate opens the window belongs to whoever fills it (the stager, or the pass that makes it inline); then to the
// pass that reads it, until the next Reset. Filling and reading need no lock of their own.
type Window struct {
	Gate *gate.Gate // opens when all rows are made, or with the error why not; renewed by Reset

	layers  []*Layer
	planes  []plane
	context int     // tokens of history a row may look at
	max     int     // rows
	tokens  []int32 // history (at most context), then the rows
	history int     // length of the history in tokens
	pos     int     // absolute position of row 0
	read    int     // rows whose records are there, of all layers
}

// plane is one PLE layer's part of a window.
type plane struct {
	keys   metal.Mat // [max, W] key_proj and grouped norm
	values metal.Mat // [max, H] value_proj
	raw    []byte    // [max, PerRow, RowBytes] the table's records, once the first were read
}

// NewWindow allocates the planes of up to maxRows rows for all PLE layers, in order of K. Layers must have been
// validated. Errors wrap metal.ErrMemory; nothing stays allocated then.
func NewWindow(dev metal.Device, layers []*Layer, maxRows int) (*Window, error) {
	if maxRows < 1 {
		panic(fmt.Sprintf("ple: NewWindow: got %d rows, want 1 or more", maxRows))
	}
	w := &Window{Gate: gate.New(), layers: layers, max: maxRows}
	for _, l := range layers {
		w.context = max(w.context, l.Hash.Context())
		wide := l.Streams * l.Hidden
		keys, err := dev.Alloc(metal.F32, maxRows*wide)
		if err != nil {
			w.Free()
			return nil, fmt.Errorf("ple: window of %d rows: keys of layer %d: %w", maxRows, l.At, err)
		}
		p := plane{keys: metal.NewMat(keys, maxRows, wide)}
		w.planes = append(w.planes, p)
		values, err := dev.Alloc(metal.F32, maxRows*l.Hidden)
		if err != nil {
			w.Free()
			return nil, fmt.Errorf("ple: window of %d rows: values of layer %d: %w", maxRows, l.At, err)
		}
		w.planes[len(w.planes)-1].values = metal.NewMat(values, maxRows, l.Hidden)
	}
	w.tokens = make([]int32, 0, w.context+maxRows)
	return w, nil
}

// WindowBytes is the device memory NewWindow takes.
func WindowBytes(layers []*Layer, maxRows int) int64 {
	var n int64
	for _, l := range layers {
		n += int64(maxRows) * int64(l.Streams+1) * int64(l.Hidden) * 4
	}
	return n
}

// Bytes is the device memory the window holds.
func (w *Window) Bytes() int64 {
	if w.planes == nil {
		return 0
	}
	return WindowBytes(w.layers, w.max)
}

// Free releases the device memory. The window is not usable afterwards.
func (w *Window) Free() {
	for _, p := range w.planes {
		if p.keys.Buf != nil {
			p.keys.Buf.Free()
		}
		if p.values.Buf != nil {
			p.values.Buf.Free()
		}
	}
	w.planes = nil
}

// Reset empties the window for rows from absolute position pos on, with a new Gate. history is the committed tokens before
// pos, oldest first, as the ledger has them: at least the last min(pos, ngram_size-1), more are ignored. It is copied.
// Whoever waited for the old gate must have been answered before.
func (w *Window) Reset(history []int32, pos int) {
	if want := min(pos, w.context); pos < 0 || len(history) < want {
		panic(fmt.Sprintf("ple: Window.Reset: got %d tokens of history at position %d, want %d", len(history), pos, want))
	}
	// A shorter past than the history would claim tokens before the sequence's start.
	keep := min(len(history), w.context, pos)
	w.tokens = append(w.tokens[:0], history[len(history)-keep:]...)
	w.history, w.pos, w.read = keep, pos, 0
	w.Gate = gate.New()
}

// Push adds rows.
func (w *Window) Push(tokens ...int32) {
	if w.Rows()+len(tokens) > w.max {
		panic(fmt.Sprintf("ple: Window.Push: got %d rows and %d more, want %d at most", w.Rows(), len(tokens), w.max))
	}
	w.tokens = append(w.tokens, tokens...)
}

// records is the host memory of layer k's table rows.
func (w *Window) records(k int) []byte {
	p, l := &w.planes[k], w.layers[k]
	if p.raw == nil {
		p.raw = make([]byte, w.max*l.Hash.PerRow()*l.Cache.Table().RowBytes())
	}
	return p.raw
}

// Rows is the number of rows pushed since Reset.
func (w *Window) Rows() int { return len(w.tokens) - w.history }

// Max is the most rows the window has room for.
func (w *Window) Max() int { return w.max }

// Pos is the absolute position of row 0.
func (w *Window) Pos() int { return w.pos }

// Tokens are the rows' tokens; not to be changed, valid until the next Reset.
func (w *Window) Tokens() []int32 { return w.tokens[w.history:] }

// Plane is the part of the PLE layer with index k: keys [Rows, W] after key_proj and the grouped norm, values [Rows, H]
// after value_proj. Rows are valid once made.
func (w *Window) Plane(k int) (keys, values metal.Mat) {
	p := w.planes[k]
	return p.keys.RowsOf(0, w.Rows()), p.values.RowsOf(0, w.Rows())
}
