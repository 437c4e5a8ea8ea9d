package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// TensorInfo is one tensor as `pack inspect` lists it.
type TensorInfo struct {
	Name   string // as written in the file
	Module string // canonical name, without the container's prefix
	File   string
	DType  DType
	Shape  []int64
	Bytes  int64
	Params int64 // weights it stands for: codes are unpacked, scales and biases count as none
	Format string
	Use    string // "trunk", "table", "mtp" or "unused"
}

// Tensors lists every tensor of the pack by file and name, with what it is used for. An entry that is unused is either not
// of the text model or not in a shape the engine takes.
func (p *Pack) Tensors() []TensorInfo {
	trunk := checklist{l: lookup{p: p, dry: true, used: map[*tensor]bool{}}}
	trunk.trunk()
	head := checklist{l: lookup{p: p, dry: true, used: map[*tensor]bool{}}}
	if p.noHead == "" {
		head.head()
	}
	out := make([]TensorInfo, 0, len(p.arch.tensors))
	for _, t := range p.arch.tensors {
		info := TensorInfo{
			Name: t.name, Module: t.canon, File: t.file.name, DType: t.dtype, Shape: slices.Clone(t.shape),
			Bytes: t.end - t.begin, Use: "unused",
		}
		switch {
		case trunk.l.used[t] && isTable(t.canon):
			info.Use = "table"
		case trunk.l.used[t]:
			info.Use = "trunk"
		case head.l.used[t]:
			info.Use = "mtp"
		}
		info.Params, info.Format = p.params(t)
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b TensorInfo) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// StrayTensors lists the tensors that no piece of the model is read from, sorted by file and name, but for those of the vision tower
// and of a head that cannot be used (see HeadFault). It is for a pack that Verify finds whole: of a broken piece the rest is unused, too.
func (p *Pack) StrayTensors() []TensorInfo {
	return slices.DeleteFunc(p.Tensors(), func(t TensorInfo) bool {
		return t.Use != "unused" || foreign(t.Module) || p.noHead != "" && strings.HasPrefix(t.Module, "mtp.")
	})
}

func isTable(canon string) bool {
	return strings.HasPrefix(canon, "ngram.") || strings.Contains(canon, ".ngram_embedding.")
}

// params counts the weights behind a tensor and names its format: "q4/32", "bf16", "scales". The columns of a quantised
// module follow from codes and scales: with s scales and p words a row has p*32/bits columns, where bits is 4 or 8 and
// the group p*32/(bits*s) is what config.json or MLX's usual pairs (4/32, 8/64) say.
func (p *Pack) params(t *tensor) (int64, string) {
	for _, side := range []string{".scales", ".biases"} {
		if base, ok := strings.CutSuffix(t.canon, side); ok && p.arch.tensors[base+".weight"] != nil {
			return 0, strings.TrimPrefix(side, ".")
		}
	}
	if t.dtype == I64 || t.dtype == I32 { // hash constants are no weights
		return 0, strings.ToLower(string(t.dtype))
	}
	if t.dtype != U32 {
		return t.elements(), strings.ToLower(string(t.dtype))
	}
	base, ok := strings.CutSuffix(t.canon, ".weight")
	scales := p.arch.tensors[base+".scales"]
	if !ok || scales == nil || len(t.shape) == 0 || len(scales.shape) != len(t.shape) || scales.shape[len(t.shape)-1] == 0 {
		return t.elements(), "u32"
	}
	bits := p.bits(t, base)
	if bits == 0 {
		return t.elements(), "u32"
	}
	last := t.shape[len(t.shape)-1]
	group := last * 32 / int64(bits) / scales.shape[len(t.shape)-1]
	return t.elements() * 32 / int64(bits), fmt.Sprintf("q%d/%d", bits, group)
}

// bits is the code width of a quantised module for display: config.json's, the side-car's metadata, or else the one that
// makes the group a usual one.
func (p *Pack) bits(t *tensor, base string) int {
	if text := t.file.header.metadata["ngram_bits"]; isTable(t.canon) && (text == "4" || text == "8") {
		return int(text[0] - '0')
	}
	if q := p.hints.quant; q != nil {
		if r, ok := q.modules[base]; ok && r.bits != 0 {
			return r.bits
		}
		return q.rule.bits
	}
	return 0
}

// Summary is a pack in figures.
type Summary struct {
	Files   int
	Tensors int
	Bytes   int64            // of all tensors
	Params  map[string]int64 // by use: "trunk", "table", "mtp", "unused"
	Formats map[string]int64 // parameters of used tensors by format: "q4/32", "q8/64", "bf16"
	Unused  []string         // names of tensors the engine does not use, sorted by file and name
}

// Summary counts what Tensors lists.
func (p *Pack) Summary() Summary {
	s := Summary{Files: len(p.arch.files), Params: map[string]int64{}, Formats: map[string]int64{}}
	for _, t := range p.Tensors() {
		s.Tensors++
		s.Bytes += t.Bytes
		s.Params[t.Use] += t.Params
		if t.Use == "unused" {
			s.Unused = append(s.Unused, t.Name)
		} else if t.Params > 0 {
			s.Formats[t.Format] += t.Params
		}
	}
	return s
}
