// Package pack opens a model pack: a folder, or files embedded in the binary, with config.json, safetensors and a
// tokenizer (design 7, spec 5). It is the one place that knows how containers differ. Above it there is one model: one
// set of names, norms as they are applied, convolutions in one order, and weights as [metal.WeightSpec].
//
//	src, err := pack.Dir("nano-q8")  // or pack.Files for an embedded pack
//	p, err := pack.Open(src)         // geometry and headers are checked, weights stay where they are
//	err = p.Verify()                 // all tensors of the trunk are there
//	w, err := p.Linear("layers.3.self_attn.q_proj", 2*heads*dim, hidden)
//
// Two layouts load (see [Layout]): the HF checkpoint and the MLX layout of the public quantised pack. Files are mapped, and
// nothing is copied but what has to change: small vectors, transposed experts, scales that are not bf16.
//
// Nothing in a pack is trusted. Headers, offsets and sizes are checked before anything is allocated, and errors wrap
// [ErrCorrupt], [ErrMissing] or [ErrUnsupported] and name file, tensor or field, what is there and what was wanted.
//
// Packs are written by the packages below: quantise makes codes, mlx lays a pack out, convert and synth give it numbers,
// write makes the folder, manifest lists its checksums, audit checks it.
//
// The package does not load weights onto a device, read table rows (package ple does) or tokenise.
package pack
