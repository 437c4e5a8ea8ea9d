package packtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/ple"
)

const (
	headFile  = "mtp.safetensors"
	tableFile = "ngram-table.safetensors"
)

// builder gathers the tensors of one pack.
type builder struct {
	g      Geometry
	seed   uint64
	o      Options
	prefix string
	trunk  []Tensor
	head   []Tensor // MLX: mtp.safetensors
	table  []Tensor // MLX: the side-car
	rows   []int64  // of each PLE layer's table
	consts []ple.Constants
	rules  map[string][2]int // MLX: bits and group of each quantised module, by its name in the file
}

func newBuilder(g Geometry, seed uint64, o Options) (*builder, error) {
	if o.DType == "" || o.Layout == pack.MLX {
		o.DType = pack.BF16
	}
	if o.Prefix == "" {
		o.Prefix = [...]string{"model.", "language_model.model."}[o.Layout]
	}
	if o.Layout == pack.HF && (o.Bits != 0 || o.TableBits != 0) {
		return nil, fmt.Errorf("bits: got %d and %d, want 0 in the HF layout", o.Bits, o.TableBits)
	}
	b := &builder{g: g, seed: seed, o: o, prefix: o.Prefix, rules: map[string][2]int{}}
	if o.Prefix == NoPrefix {
		b.prefix = ""
	}
	geo := ple.Geometry{Vocab: g.Vocab, NgramSize: g.NgramSize, Heads: g.HeadsPerNgram, Base: g.NgramBase, Divisor: g.NgramDivisor, Seed: 1234, Dim: g.PLEDim}
	if len(g.EOS) > 0 {
		geo.EOS = g.EOS[0]
	}
	for k := range g.PLELayerIDs {
		c, err := ple.Derive(geo, k)
		if err != nil {
			return nil, err
		}
		b.consts = append(b.consts, c)
		b.rows = append(b.rows, c.Rows(g.NgramDivisor))
		if n := int64(o.TableShards); n > 0 && b.rows[k]%n != 0 {
			return nil, fmt.Errorf("table %d: got %d rows, which %d shards do not divide", k, b.rows[k], n)
		}
	}
	return b, nil
}

// put adds a tensor under its canonical name.
func (b *builder) put(name string, d pack.DType, data []byte, shape ...int) {
	t := Tensor{Name: b.fileName(name), DType: d, Shape: shape, Data: data}
	if b.o.Layout == pack.MLX && strings.HasPrefix(name, "mtp.") {
		b.head = append(b.head, t)
	} else {
		b.trunk = append(b.trunk, t)
	}
}

// fileName is the name a canonical one has in the file.
func (b *builder) fileName(name string) string {
	switch {
	case strings.HasPrefix(name, "mtp."):
		return name
	case strings.HasPrefix(name, "lm_head") && b.o.Layout == pack.MLX:
		return "language_model." + name
	case strings.HasPrefix(name, "lm_head"):
		return name
	}
	return b.prefix + name
}

// stream names the random values of a tensor: its canonical name, except that the draft head's final mixer has the
// trunk's values, so that its drafts come near.
func stream(name string) string {
	if strings.HasPrefix(name, "mtp.hyper_connection_mixer") {
		return strings.TrimPrefix(name, "mtp.")
	}
	return name
}

// matrix adds a linear weight with values of standard deviation scale/sqrt(cols).
func (b *builder) matrix(name string, rows, cols int, scale float64) {
	vals := normals(random(b.seed, stream(name)), rows*cols, scale/math.Sqrt(float64(cols)))
	b.linear(name, vals, 0, rows, cols)
}

// linear adds values [rows, cols], or [stack, rows, cols], quantised where the layout does so.
func (b *builder) linear(name string, vals []float32, stack, rows, cols int) {
	shape := func(last int) []int {
		if stack > 0 {
			return []int{stack, rows, last}
		}
		return []int{rows, last}
	}
	bits, group := b.rule(name, cols)
	if bits == 0 {
		b.put(name+".weight", b.o.DType, encode(vals, b.o.DType), shape(cols)...)
		return
	}
	b.rules[b.fileName(name)] = [2]int{bits, group}
	codes, scales, biases := affine(vals, bits, group)
	b.put(name+".weight", pack.U32, codes, shape(cols*bits/32)...)
	b.put(name+".scales", pack.BF16, scales, shape(cols/group)...)
	b.put(name+".biases", pack.BF16, biases, shape(cols/group)...)
}

// rule is the recipe of spec 5.3: 4-bit groups of 32 for experts and most projections, 8-bit groups of 64 for the rest,
// bf16 for what carries structure. Groups that do not divide the columns fall back to 32, then to bf16.
func (b *builder) rule(name string, cols int) (bits, group int) {
	if b.o.Bits == 0 {
		return 0, 0
	}
	for _, part := range []string{"hyper_connection", ".ple.", "mtp.fc_"} {
		if strings.Contains(name, part) {
			return 0, 0
		}
	}
	bits, group = b.o.Bits, 32
	for _, part := range []string{"embed_tokens", "lm_head", ".out_proj", ".mlp.gate", "shared_expert", ".index_qk_proj"} {
		if strings.Contains(name, part) {
			bits = 8
		}
	}
	if bits == 8 && cols%64 == 0 {
		group = 64
	}
	if cols%group != 0 {
		return 0, 0
	}
	return bits, group
}

// quantization is the entry of config.json: the commonest rule and what differs from it.
func (b *builder) quantization() map[string]any {
	def := [2]int{b.o.Bits, 64}
	if b.o.Bits == 4 {
		def[1] = 32
	}
	out := map[string]any{"bits": def[0], "group_size": def[1], "mode": "affine"}
	for name, r := range b.rules {
		if r != def {
			out[name] = map[string]any{"bits": r[0], "group_size": r[1]}
		}
	}
	return out
}

// norm adds a zero-centred norm, folded where the layout does so.
func (b *builder) norm(name string, n int) {
	w := offsets(random(b.seed, stream(name)), n)
	if b.o.Layout == pack.MLX && !strings.HasPrefix(name, "mtp.pre_fc_norm_") {
		for i := range w {
			w[i] += 1
		}
	}
	b.put(name+".weight", b.o.DType, encode(w, b.o.DType), n)
}

func (b *builder) vector(name string, vals []float32) {
	b.put(name, b.o.DType, encode(vals, b.o.DType), len(vals))
}

// conv adds a depthwise convolution; mlx is its name in the MLX layout.
func (b *builder) conv(name, mlx string, channels, taps int) {
	data := encode(normals(random(b.seed, name), channels*taps, 0.3), b.o.DType)
	if b.o.Layout == pack.MLX {
		b.put(mlx, b.o.DType, data, channels, taps, 1)
	} else {
		b.put(name, b.o.DType, data, channels, 1, taps)
	}
}

func (b *builder) ints(name string, vals []int64) {
	var data []byte
	for _, v := range vals {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	b.put(name, pack.I64, data, len(vals))
}

// files makes the pack's files of what was gathered.
func (b *builder) files() (map[string]string, error) {
	format := map[string]string{"format": [...]string{"pt", "mlx"}[b.o.Layout]}
	files := map[string]string{"config.json": b.config()}
	if n := b.o.Shards; n > 1 {
		shards := make([][]Tensor, n)
		index := map[string]string{}
		size := 0
		for i, t := range b.trunk {
			index[t.Name] = fmt.Sprintf("model-%05d-of-%05d.safetensors", i%n+1, n)
			shards[i%n] = append(shards[i%n], t)
			size += len(t.Data)
		}
		for i, s := range shards {
			files[fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)] = Safetensors(format, s)
		}
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": size}, "weight_map": index})
		if err != nil {
			return nil, err
		}
		files[indexFile] = string(text)
	} else {
		files["model.safetensors"] = Safetensors(format, b.trunk)
	}
	if b.head != nil {
		files[headFile] = Safetensors(format, b.head)
	}
	if b.table != nil {
		meta := map[string]string{
			"ngram_bits": strconv.Itoa(b.o.TableBits), "ngram_group_size": strconv.Itoa(b.tableGroup()),
			"rows": strconv.FormatInt(b.rows[0], 10), "dim": strconv.Itoa(b.rowDim()),
		}
		files[tableFile] = Safetensors(meta, b.table)
	}
	return files, nil
}
