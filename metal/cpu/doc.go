// Package cpu is the reference device: the model's ops on the host's cores, in f32.
//
// Bits. Two rules make every kernel set (portable Go, AVX2, AVX-512, NEON, NEON with the dot product) give the same bits, so that all of them share
// one device kind, "cpu/f32": sums have one fixed order per output element, written down beside each op; and fused
// multiply-add is used in Linear, Experts and the dot products of Select and Attend only, everywhere else a product is
// rounded before it is added (in Go: float32(a*b), which also stops arm64 from fusing). Threads split rows and outputs, never a sum.
//
// The product of Linear and Experts with plain weights (f32, bf16, f16), for output n of a row x:
//
//	c_j = fma(w[n,k], x[k], c_j)   for k = j mod 4 ascending, from c_j = +0, j = 0..3
//	y   = (c_0 + c_1) + (c_2 + c_3)
//
// With affine weights (q8, q4) it is summed exactly in fixed point, block by block: fixed.go has the definition and the
// reasons. Precision Fast, opt-in and a device kind of its own ("cpu/i8"), multiplies 8-bit numbers instead: fast.go and encode.go.
//
// Besides the ops of metal.Stream the device claims the fused blocks of metal/fused.go (fused.go here has the reasons); they
// give the bits of their compositions.
//
// Ops run at once on the calling goroutine, helped by a pool of persistent workers that all streams share; a stream
// that finds the pool busy works alone, with the same bits.
package cpu
