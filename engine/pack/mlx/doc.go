// Package mlx writes packs in the MLX layout of the public quantised pack (spec 5.2, 5.3): its names, its codes, folded
// norms, turned convolutions, the n-gram table and the MTP head in files of their own, and config.json to match. Where
// the numbers come from is for others to say, as [Values]: a checkpoint (package convert) or a generator (package synth).
//
//	p, err := mlx.NewPlan(&config, values, mlx.Options{Recipe: r, Head: true})  // nothing is written yet
//	texts["config.json"], err = p.Config(source)
//	err = p.Write(ctx, "out", texts, manifest.Manifest{Made: "..."}, nil)
//
// A job holds some rows of one tensor at a time, however large the tensor is. The package starts no goroutines.
package mlx
