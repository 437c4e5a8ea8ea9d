package pack

import (
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// Leave tells the system that a weight's bytes have been read and will hardly be read again: their pages need not stay in
// the process. Reading them later is right all the same. Pages shared with a neighbour stay until [Pack.LeaveAll].
func (p *Pack) Leave(spec metal.WeightSpec) {
	for _, part := range spec.Parts {
		for _, b := range [][]byte{part.Data, part.Scales, part.Biases} {
			if f := p.holder(b); f != nil {
				leavePages(b, f.blob.Mapped)
			}
		}
	}
}

// LeaveAll is Leave for everything in safetensors files: after a model has been loaded.
func (p *Pack) LeaveAll() {
	for _, f := range p.arch.files {
		leavePages(f.blob.Data, f.blob.Mapped)
	}
}

// holder is the file that b is a part of, nil for bytes that were made.
func (p *Pack) holder(b []byte) *file {
	if len(b) == 0 {
		return nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, f := range p.arch.files {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(f.blob.Data)))
		if at >= from && at+uintptr(len(b)) <= from+uintptr(len(f.blob.Data)) {
			return f
		}
	}
	return nil
}
