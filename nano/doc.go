// Package nano is the default pack, embedded in the binary: a very small Qwen4-Exp model of 32.5 million parameters in
// the quantised MLX layout (8-bit), 42 MB, served as model "nano". Only cmd/flashlane imports it; the build tag nopack
// leaves it out, and tests open the files under pack/ by path.
//
// The model was trained only on text of the Go project and on conversations made from it. It is a test and demonstration
// model; pack/README.md is its card. The model and its data are under the BSD-3-Clause licence of The Go Authors, whose
// text pack/LICENSE-GO.txt is embedded with it and must travel with every copy. The rest of this repository is under the
// licence in its root.
package nano
