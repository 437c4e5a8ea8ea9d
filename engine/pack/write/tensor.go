package write

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
)

// Tensor is one tensor of a file to be written.
type Tensor struct {
	Name  string
	DType pack.DType
	Shape []int64
}

// Bytes is the length of the tensor's data. The shape is the caller's and taken to be small enough.
func (t Tensor) Bytes() int64 {
	n := t.DType.Size()
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Pair is one entry of a header's metadata; they are written in the order given.
type Pair struct {
	Key, Value string
}

// header is everything before the data of a safetensors file: u64 length, JSON, spaces up to a multiple of 8. Tensors lie
// in the order given, without holes. Spacing is that of Python's json module, as the public packs have it.
func header(metadata []Pair, tensors []Tensor) []byte {
	var b strings.Builder
	b.WriteByte('{')
	if len(metadata) > 0 {
		b.WriteString(`"__metadata__": {`)
		for i, m := range metadata {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %s", quote(m.Key), quote(m.Value))
		}
		b.WriteByte('}')
	}
	var at int64
	for i, t := range tensors {
		if i > 0 || len(metadata) > 0 {
			b.WriteString(", ")
		}
		shape := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", ")
		fmt.Fprintf(&b, `%s: {"dtype": %s, "shape": %s, "data_offsets": [%d, %d]}`, quote(t.Name), quote(string(t.DType)), shape, at, at+t.Bytes())
		at += t.Bytes()
	}
	b.WriteByte('}')
	pad := (8 - b.Len()%8) % 8
	out := binary.LittleEndian.AppendUint64(nil, uint64(b.Len()+pad))
	out = append(out, b.String()...)
	return append(out, "        "[:pad]...)
}
