package packtest

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/pack"
)

// ple adds one PLE layer and its table.
func (b *builder) ple(p string, k int) {
	g := &b.g
	w := g.Streams * g.Hidden
	b.matrix(p+".key_proj", w, g.PLEDim, 2)
	b.matrix(p+".value_proj", g.Hidden, g.PLEDim, 1)
	for _, n := range []string{".norm_key", ".norm_query", ".norm_conv"} {
		b.norm(p+n, w)
	}
	b.conv(p+".conv1d.weight", p+".conv_weight", w, g.PLEConv)
	embed := p + ".ple_embedding."
	if b.o.HashBuffers {
		c := b.consts[k]
		mult := make([]int64, len(c.Multipliers))
		for i, m := range c.Multipliers {
			mult[i] = int64(m)
		}
		b.ints(embed+"layer_multipliers", mult)
		b.ints(embed+"ngram_heads_vocab_sizes", c.Sizes)
		b.ints(embed+"ngram_heads_offsets", c.Offsets)
	}
	rows, dim := int(b.rows[k]), b.rowDim()
	vals := normals(random(b.seed, embed+"ngram_embedding"), rows*dim, 0.5)
	if b.o.Layout == pack.MLX {
		b.sideTable(k, vals, rows, dim)
		return
	}
	n := b.o.TableShards
	if n == 0 {
		b.put(embed+"ngram_embedding.weight", b.o.DType, encode(vals, b.o.DType), rows, dim)
		return
	}
	each := rows / n
	for i := range n {
		part := vals[i*each*dim : (i+1)*each*dim]
		b.put(fmt.Sprintf("%sngram_embedding.shard_%d.weight", embed, i), b.o.DType, encode(part, b.o.DType), each, dim)
	}
}

// tableGroup is the widest usual group that divides a table row, 0 if the table is not quantised.
func (b *builder) tableGroup() int {
	if b.o.TableBits == 0 {
		return 0
	}
	for _, group := range []int{32, 16, 8} {
		if b.rowDim()%group == 0 {
			return group
		}
	}
	return 0
}

// sideTable adds one layer's planes of the side-car.
func (b *builder) sideTable(k int, vals []float32, rows, dim int) {
	name := "ngram."
	if k > 0 {
		name = fmt.Sprintf("ngram.%d.", k)
	}
	add := func(plane string, d pack.DType, data []byte, cols int) {
		b.table = append(b.table, Tensor{Name: name + plane, DType: d, Shape: []int{rows, cols}, Data: data})
	}
	group := b.tableGroup()
	if group == 0 {
		add("weight", pack.BF16, encode(vals, pack.BF16), dim)
		return
	}
	codes, scales, biases := affine(vals, b.o.TableBits, group)
	add("weight", pack.U32, codes, dim*b.o.TableBits/32)
	add("scales", pack.BF16, scales, dim/group)
	add("biases", pack.BF16, biases, dim/group)
}
