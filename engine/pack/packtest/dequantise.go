package packtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
)

const indexFile = "model.safetensors.index.json"

// Dequantise makes of a pack's files in the MLX layout the same model without codes: every quantised module becomes what
// it means, w = scale*q + bias, as F32 (exact: the sum's rounding to f32 is what every reader does) or rounded to BF16.
// Everything else stays.
func Dequantise(files map[string]string, d pack.DType) (map[string]string, error) {
	var config map[string]any
	if err := json.Unmarshal([]byte(files["config.json"]), &config); err != nil {
		return nil, fmt.Errorf("packtest: config.json: %w", err)
	}
	rules, _ := config["quantization"].(map[string]any)
	delete(config, "quantization")
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("packtest: config.json: %w", err)
	}
	out := maps.Clone(files)
	out["config.json"] = string(text)
	parsed, all := map[string]*parsedFile{}, map[string]Tensor{} // a module's planes may lie in several shards
	for name, data := range files {
		if strings.HasSuffix(name, ".safetensors") {
			if parsed[name], err = parseFile(data); err != nil {
				return nil, fmt.Errorf("packtest: %s: %w", name, err)
			}
			maps.Copy(all, parsed[name].tensors)
		}
	}
	for name, f := range parsed {
		if out[name], err = f.plain(all, rules, d); err != nil {
			return nil, fmt.Errorf("packtest: %s: %w", name, err)
		}
	}
	if index := out[indexFile]; index != "" {
		if out[indexFile], err = plainIndex(index, all); err != nil {
			return nil, fmt.Errorf("packtest: %s: %w", indexFile, err)
		}
	}
	return out, nil
}

// plainIndex takes the scales and biases of codes out of an index.
func plainIndex(text string, all map[string]Tensor) (string, error) {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		return "", err
	}
	maps.DeleteFunc(index.Map, func(name, _ string) bool {
		module, side := cutSide(name)
		return side && all[module+".weight"].DType == pack.U32
	})
	out, err := json.Marshal(map[string]any{"weight_map": index.Map})
	return string(out), err
}

// parsedFile is a safetensors file, taken apart.
type parsedFile struct {
	meta    map[string]string
	tensors map[string]Tensor
}

func parseFile(data string) (*parsedFile, error) {
	var head map[string]json.RawMessage
	n := binary.LittleEndian.Uint64([]byte(data[:8]))
	if err := json.Unmarshal([]byte(data[8:8+n]), &head); err != nil {
		return nil, err
	}
	f := &parsedFile{tensors: map[string]Tensor{}}
	for name, raw := range head {
		if name == "__metadata__" {
			if err := json.Unmarshal(raw, &f.meta); err != nil {
				return nil, err
			}
			continue
		}
		var e struct {
			DType   pack.DType `json:"dtype"`
			Shape   []int      `json:"shape"`
			Offsets [2]int     `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		f.tensors[name] = Tensor{name, e.DType, e.Shape, []byte(data[8+n:][e.Offsets[0]:e.Offsets[1]])}
	}
	return f, nil
}

// plain writes the file anew; all has the tensors of every file.
func (f *parsedFile) plain(all map[string]Tensor, rules map[string]any, d pack.DType) (string, error) {
	var out []Tensor
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		t := f.tensors[name]
		base, isWeight := strings.CutSuffix(name, ".weight")
		if !isWeight || t.DType != pack.U32 {
			if module, side := cutSide(name); !side || all[module+".weight"].DType != pack.U32 {
				out = append(out, t)
			}
			continue
		}
		bits := codeBits(base, f.meta, rules)
		if bits == 0 {
			return "", fmt.Errorf("tensor %q: nothing says how many bits its codes have", name)
		}
		out = append(out, plain(t, all[base+".scales"], all[base+".biases"], bits, d))
	}
	meta := maps.Clone(f.meta)
	if meta["ngram_bits"] != "" {
		meta["ngram_bits"] = "0"
	}
	return Safetensors(meta, out), nil
}

// cutSide takes ".scales" or ".biases" off.
func cutSide(name string) (string, bool) {
	for _, side := range []string{".scales", ".biases"} {
		if module, ok := strings.CutSuffix(name, side); ok {
			return module, true
		}
	}
	return name, false
}

// codeBits is the width of a module's codes, by the side-car's metadata or config.json's rules.
func codeBits(module string, meta map[string]string, rules map[string]any) int {
	if text := meta["ngram_bits"]; text != "" {
		bits, err := strconv.Atoi(text)
		if err != nil {
			return 0
		}
		return bits
	}
	rule := rules
	if own, ok := rules[module].(map[string]any); ok {
		rule = own
	}
	bits, _ := rule["bits"].(float64)
	return int(bits)
}

// plain is one module as floats.
func plain(t, scales, biases Tensor, bits int, d pack.DType) Tensor {
	vals := make([]float32, len(t.Data)*8/bits)
	group := len(vals) / (len(scales.Data) / 2)
	half := func(b []byte, i int) float32 {
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
	}
	for i := range vals {
		q := int(t.Data[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1)
		vals[i] = float32(float64(half(scales.Data, i/group))*float64(q) + float64(half(biases.Data, i/group)))
	}
	shape := slices.Clone(t.Shape)
	shape[len(shape)-1] *= 32 / bits
	return Tensor{t.Name, d, shape, encode(vals, d)}
}
