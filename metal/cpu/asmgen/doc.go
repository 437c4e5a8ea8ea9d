// Command asmgen writes assembly of package cpu and its Go declarations: for amd64 the Linear kernels (linear_*_amd64.s) and the
// elementwise sweeps (sweep_*_amd64.s), for arm64 all there is (*_arm64.s), since most of that has to be words: Go's assembler knows
// little of NEON (neon.go). Run `go generate ./metal/cpu` after a change; a test fails if the files are stale.
//
// Shape of a Linear kernel. A tile of 16 outputs is a vector (two in AVX2, four in NEON) per column k. For each k the kernel loads
// 16 weights, turns them into f32, and does one fused multiply-add per row of x, whose element is broadcast from memory (in NEON
// the instruction takes it from a register); k mod 4 names the accumulator. Sums are exactly those of kernelSet, so a kernel may be changed in anything but that.
package main
