package write

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// quote is a JSON string.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("write: " + err.Error()) // strings always marshal
	}
	return string(text)
}

// Shard is one file of several, and what lies in it.
type Shard struct {
	Name    string
	Tensors []Tensor
}

// Shards cuts tensors into files of at most limit bytes of data each, in their order: one file stem.safetensors if they
// fit, else stem-00001-of-0000N.safetensors and so on, which want an [Index]. A tensor larger than limit has a file alone.
// limit 0 is no limit.
func Shards(stem string, tensors []Tensor, limit int64) []Shard {
	var out []Shard
	var size int64
	for _, t := range tensors {
		if len(out) == 0 || limit > 0 && size > 0 && size+t.Bytes() > limit {
			out, size = append(out, Shard{}), 0
		}
		last := &out[len(out)-1]
		last.Tensors = append(last.Tensors, t)
		size += t.Bytes()
	}
	for i := range out {
		out[i].Name = stem + ".safetensors"
		if len(out) > 1 {
			out[i].Name = fmt.Sprintf("%s-%05d-of-%05d.safetensors", stem, i+1, len(out))
		}
	}
	return out
}

// Index is the text of model.safetensors.index.json for several shards.
func Index(shards []Shard) ([]byte, error) {
	var total int64
	names := map[string]string{}
	for _, s := range shards {
		for _, t := range s.Tensors {
			total += t.Bytes()
			names[t.Name] = s.Name
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"metadata": map[string]json.Number{"total_size": json.Number(strconv.FormatInt(total, 10))}, "weight_map": names,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return text, nil
}
