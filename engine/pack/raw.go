package pack

import (
	"cmp"
	"fmt"
	"slices"
)

// FileInfo is one safetensors file of the pack.
type FileInfo struct {
	Name    string
	Bytes   int64
	Head    int64 // bytes before the data: length, JSON, padding
	Loose   int64 // bytes of data that belong to no tensor
	Tensors int
}

// Files lists the safetensors files by name.
func (p *Pack) Files() []FileInfo {
	out := make([]FileInfo, 0, len(p.arch.files))
	for _, f := range p.arch.files {
		x := FileInfo{Name: f.name, Bytes: int64(len(f.blob.Data)), Head: 8 + int64(len(f.header.raw)), Tensors: len(f.header.spans)}
		x.Loose = x.Bytes - x.Head
		for i := range f.header.spans {
			x.Loose -= f.header.spans[i].end - f.header.spans[i].begin
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b FileInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Head is what lies before the data of a safetensors file of the pack, read-only; nil if it has no such file.
func (p *Pack) Head(file string) []byte {
	for _, f := range p.arch.files {
		if f.name == file {
			return f.blob.Data[: 8+len(f.header.raw) : 8+len(f.header.raw)]
		}
	}
	return nil
}

// ReadTensor copies bytes of a tensor that Tensors lists to dst, from offset off in it on. A file is read by position, and a
// failing or shortened one is an error that names the tensor.
func (p *Pack) ReadTensor(t TensorInfo, dst []byte, off int64) error {
	x := p.arch.tensors[t.Module]
	if x == nil || off < 0 || off+int64(len(dst)) > x.end-x.begin {
		panic(fmt.Sprintf("pack: read of bytes %d to %d of tensor %q", off, off+int64(len(dst)), t.Name))
	}
	s := x.plane()
	if err := readSpan(&s, dst, off); err != nil {
		return fmt.Errorf("%s: tensor %q: %w", t.File, t.Name, err)
	}
	return nil
}

// StaleRules lists the modules for which config.json has a quantisation of their own though the pack has no codes of the
// name: sorted, and without those of the vision tower.
func (p *Pack) StaleRules() []string {
	q := p.hints.quant
	if q == nil {
		return nil
	}
	var out []string
	for name, r := range q.modules {
		if !r.off && !foreign(name) && p.arch.tensors[name+".scales"] == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
