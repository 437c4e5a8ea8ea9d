// Package write makes a pack's folder: safetensors files whose tensors are filled piece by piece, in any order and by
// several goroutines, text files, and a manifest with a checksum of everything.
//
//	f, err := write.Create("out")                      // makes out.partial
//	m, err := f.File("model.safetensors", meta, list)  // header is written, the file has its full length
//	p := m.Plane("lm_head.weight"); p.Write(...); p.Close()
//	err = f.Finish(manifest.Manifest{Made: "..."})     // config.json and the manifest last, then renamed to out
//
// A folder takes its name only when it is whole. Until then it is called OUT.partial and has no config.json, so that
// nothing takes it for a pack; a failed run removes it ([Folder.Abandon]).
//
// The package knows tensors, not models: names and formats are the business of package mlx.
package write
