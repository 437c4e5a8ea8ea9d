package block

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Arena is the scratch memory of one pass, handed out as matrices in stack order: a block marks, takes what it needs
// and releases. A fresh arena only measures; [Arena.Alloc] then backs it with memory of the peak size. The content of
// what it hands out is undefined.
type Arena struct {
	floats, ints         metal.Buffer
	f, i                 int // now in use
	peakFloats, peakInts int
	capFloats, capInts   int
}

// Mark is a height of the arena to release to.
type Mark struct{ f, i int }

// line keeps rows of different matrices off one cache line.
const line = 16

// Floats takes an F32 matrix, dense.
func (a *Arena) Floats(rows, cols int) metal.Mat {
	off := a.f
	a.f += (rows*cols + line - 1) / line * line
	a.peakFloats = max(a.peakFloats, a.f)
	if a.floats != nil && a.f > a.capFloats {
		panic(fmt.Sprintf("block: arena: %d x %d floats do not fit: %d of %d in use", rows, cols, off, a.capFloats))
	}
	return metal.Mat{Buf: a.floats, Off: off, Rows: rows, Cols: cols, Stride: cols}
}

// Ints takes an I32 matrix, dense.
func (a *Arena) Ints(rows, cols int) metal.Mat {
	off := a.i
	a.i += (rows*cols + line - 1) / line * line
	a.peakInts = max(a.peakInts, a.i)
	if a.ints != nil && a.i > a.capInts {
		panic(fmt.Sprintf("block: arena: %d x %d ints do not fit: %d of %d in use", rows, cols, off, a.capInts))
	}
	return metal.Mat{Buf: a.ints, Off: off, Rows: rows, Cols: cols, Stride: cols}
}

// Mark is the height now.
func (a *Arena) Mark() Mark { return Mark{a.f, a.i} }

// Release gives back all that was taken since m.
func (a *Arena) Release(m Mark) { a.f, a.i = m.f, m.i }

// Reset releases everything, also what a pass that panicked had taken.
func (a *Arena) Reset() { a.f, a.i = 0, 0 }

// Alloc backs a measured arena with memory.
func (a *Arena) Alloc(dev metal.Device) error {
	floats, err := dev.Alloc(metal.F32, a.peakFloats)
	if err != nil {
		return err
	}
	ints, err := dev.Alloc(metal.I32, a.peakInts)
	if err != nil {
		floats.Free()
		return err
	}
	a.floats, a.ints = floats, ints
	a.capFloats, a.capInts = a.peakFloats, a.peakInts
	a.Reset()
	return nil
}

// Free gives the memory back to the device.
func (a *Arena) Free() {
	if a.floats != nil {
		a.floats.Free()
		a.ints.Free()
	}
	*a = Arena{}
}
