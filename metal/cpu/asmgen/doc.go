// Command asmgen writes the amd64 assembly of package cpu: the Linear kernels (linear_*_amd64.s), the elementwise sweeps
// (sweep_*_amd64.s) and their Go declarations. Run `go generate ./metal/cpu` after a change; a test fails if the files are stale.
//
// Shape of a Linear kernel. A tile of 16 outputs is a vector (two in AVX2) per column k. For each k the kernel loads 16 weights,
// turns them into f32, and does one fused multiply-add per row of x, whose element is broadcast from memory; k mod 4
// names the accumulator. Sums are exactly those of kernelSet, so a kernel may be changed in anything but that.
package main
