// Package synth makes random packs of any geometry and size, so that the real loader and the real side-car meet real
// sizes. Nothing in such a pack means anything: it is for measuring and for testing.
//
//	g, err := synth.Released()                                   // or synth.Parse of any config.json
//	g, made, err := g.Cut(4).WithRows(1_000_000)                 // 4 layers, at most a million table rows
//	config, err := g.Config()
//	plan, err := mlx.NewPlan(&config, synth.NewValues(seed, &config), mlx.Options{...})
//
// Values depend on the seed, the tensor's canonical name and the element's place alone. Scales are those of packtest's
// models: activations stay near one, and the MTP head's first layer is near the identity, so that some of its drafts are
// accepted. Quantised planes are random codes under scales near that size; no float is made for them, which makes
// gigabytes a second.
package synth
