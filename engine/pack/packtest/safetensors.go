package packtest

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
)

// Tensor is one tensor to write.
type Tensor struct {
	Name  string
	DType pack.DType
	Shape []int
	Data  []byte
}

// Safetensors makes a file of the tensors in their order.
func Safetensors(metadata map[string]string, tensors []Tensor) string {
	type entry struct {
		DType   pack.DType `json:"dtype"`
		Shape   []int      `json:"shape"`
		Offsets [2]int     `json:"data_offsets"`
	}
	head := map[string]any{}
	if metadata != nil {
		head["__metadata__"] = metadata
	}
	at := 0
	for _, t := range tensors {
		head[t.Name] = entry{t.DType, t.Shape, [2]int{at, at + len(t.Data)}}
		at += len(t.Data)
	}
	text, err := json.Marshal(head)
	if err != nil {
		panic("packtest: " + err.Error()) // plain structs always marshal
	}
	var out strings.Builder
	pad := (8 - len(text)%8) % 8
	out.Grow(8 + len(text) + pad + at)
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text)+pad)))
	out.Write(text)
	out.WriteString("        "[:pad])
	for _, t := range tensors {
		out.Write(t.Data)
	}
	return out.String()
}
