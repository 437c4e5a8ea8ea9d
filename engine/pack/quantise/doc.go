// Package quantise turns rows of floats into the affine codes of the MLX layout, and says which module of a model is
// written in which format (spec 5.3).
//
//	r, err := quantise.ByName("optimized-speed")
//	f := r.Module("layers.3.self_attn.q_proj", 2560)     // {4 32}
//	err = f.Encode(codes, scales, biases, vals)           // whole groups, row after row
//
// It knows neither files nor packs: package mlx asks it while it writes.
package quantise
