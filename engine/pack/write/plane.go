package write

import (
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/flashlane/flashlane/engine/pack/manifest"
)

// File is a safetensors file under construction.
type File struct {
	name   string
	h      Handle
	size   int64
	header string // SHA-256 of what lies before the data
	planes map[string]*Plane
}

// Plane is where a tensor's bytes go, front to back. It belongs to one goroutine; different planes of a file may be
// written at once.
func (f *File) Plane(name string) *Plane {
	p := f.planes[name]
	if p == nil {
		panic(fmt.Sprintf("write: %s has no tensor %q", f.name, name))
	}
	return p
}

// finish checks that every plane was filled, and closes the file.
func (f *File) finish() (manifest.File, error) {
	m := manifest.File{Bytes: f.size, Header: f.header, Tensors: make(map[string]string, len(f.planes))}
	for name, p := range f.planes {
		if p.done == "" {
			return m, fmt.Errorf("%s: tensor %q: was never finished", f.name, name)
		}
		m.Tensors[name] = p.done
	}
	err := f.h.Sync()
	if cerr := f.h.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", f.name, err)
	}
	return m, nil
}

// Plane is one tensor's place in a file.
type Plane struct {
	file    *File
	tensor  Tensor
	at, end int64 // the next byte, and the first after the tensor
	sum     hash.Hash
	done    string // what the manifest says of it, once closed
}

// Write writes the tensor's next bytes. An error names file and tensor.
func (p *Plane) Write(b []byte) (int, error) {
	if int64(len(b)) > p.end-p.at {
		return 0, fmt.Errorf("%s: tensor %q: got %d bytes more than its %d", p.file.name, p.tensor.Name, int64(len(b))-(p.end-p.at), p.tensor.Bytes())
	}
	n, err := p.file.h.WriteAt(b, p.at)
	p.at += int64(n)
	if err != nil {
		return n, fmt.Errorf("%s: tensor %q: %w", p.file.name, p.tensor.Name, err)
	}
	p.sum.Write(b)
	return n, nil
}

// Close ends the tensor, which must be full.
func (p *Plane) Close() error {
	if p.at != p.end {
		return fmt.Errorf("%s: tensor %q: got %d bytes less than its %d", p.file.name, p.tensor.Name, p.end-p.at, p.tensor.Bytes())
	}
	p.done = hex.EncodeToString(p.sum.Sum(nil))
	return nil
}

// Skip ends the tensor and leaves what was not written a hole, which reads as zeros and takes no room on the disk.
func (p *Plane) Skip() { p.done = manifest.Sparse }
