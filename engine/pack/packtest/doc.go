// Package packtest makes small random packs of any geometry, for tests of every package.
//
//	dir := t.TempDir()
//	err := packtest.Write(dir, packtest.Odd(), 1, packtest.Options{WithMTP: true})
//	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{Layout: pack.MLX, Bits: 8}) // in memory
//
// A tensor's values depend on the seed and its canonical name alone, and all of them are exact in bf16, f16 and f32. So
// every unquantised pack of one geometry and seed means the same model, whatever its layout, prefix, dtype, sharding and
// form of experts: logits must be equal to the bit. Quantised packs (Bits 4 or 8) come near it.
//
// Scales are those of a model whose activations stay near one. The draft head is made to resemble the trunk (its embedding
// path is the identity, its final mixer the trunk's), so that drafts are sometimes accepted and sometimes not.
package packtest
