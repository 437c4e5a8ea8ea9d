package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FileInfo is one safetensors file of the pack.
type FileInfo struct {
	Name    string
	Bytes   int64
	Head    int64 // bytes before the data: length, JSON, padding
	Tensors int
}

// Files lists the safetensors files by name.
func (p *Pack) Files() []FileInfo {
	out := make([]FileInfo, 0, len(p.arch.files))
	for _, f := range p.arch.files {
		x := FileInfo{Name: f.name, Bytes: int64(len(f.blob.Data)), Head: 8 + int64(len(f.header.raw)), Tensors: len(f.header.spans)}
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

// UnsaidCodes lists the modules of the trunk that have codes though config.json says of none how they are quantised: sorted.
// Their shapes tell this engine, but not every other one.
func (p *Pack) UnsaidCodes() []string {
	q := p.hints.quant
	if q != nil && q.rule.bits != 0 && q.rule.group != 0 {
		return nil
	}
	var out []string
	for name, t := range p.arch.tensors {
		module, weight := strings.CutSuffix(name, ".weight")
		if !weight || t.dtype != U32 || foreign(name) || isTable(name) || strings.HasPrefix(name, "mtp.") {
			continue
		}
		if q != nil {
			if r := q.modules[module]; r.bits != 0 && r.group != 0 {
				continue
			}
		}
		out = append(out, module)
	}
	slices.Sort(out)
	return out
}

// Metadata is what a safetensors file of the pack says of itself, read-only; nil if it says nothing or there is no such file.
func (p *Pack) Metadata(file string) map[string]string {
	for _, f := range p.arch.files {
		if f.name == file {
			return f.header.metadata
		}
	}
	return nil
}

// Strays lists the safetensors files beside those of the pack, sorted, but for those of the vision tower: nothing names them,
// so nothing of them is used. A source that cannot list its files has none.
func (p *Pack) Strays() ([]string, error) {
	l, ok := p.src.(Lister)
	if !ok {
		return nil, nil
	}
	names, err := l.Names()
	if err != nil {
		return nil, named(p.Name, err)
	}
	var out []string
	for _, name := range names {
		known := slices.ContainsFunc(p.arch.files, func(f *file) bool { return f.name == name })
		if strings.HasSuffix(name, ".safetensors") && !known && !p.foreignFile(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// foreignFile reports whether all tensors of a file belong to another part of the model than the text's.
func (p *Pack) foreignFile(name string) bool {
	blob, err := p.src.Open(name)
	if err != nil {
		return false
	}
	h, err := parseHeader(blob.Data)
	return err == nil && len(h.spans) > 0 && !slices.ContainsFunc(h.spans, func(s span) bool { return !foreign(canonical(s.name)) })
}
