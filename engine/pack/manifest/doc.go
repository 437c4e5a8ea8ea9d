// Package manifest is the list of checksums that lies beside a pack we wrote: the size of every file, a SHA-256 of every
// text file and of every safetensors header, and one of every tensor. `flashlane pack verify` compares them with the
// pack; nothing else needs the file, and a pack from elsewhere has none.
//
//	m, err := manifest.Parse(data)
//	sum := m.Files["model.safetensors"].Tensors["language_model.lm_head.weight"]
package manifest
