package cpu

import "unsafe"

// simd is the assembly a kernel set may call in the ops outside Linear and Experts. Each head* function (simd_amd64.go, simd_arm64.go) runs the
// part of its arguments that fills whole registers and returns how many elements that was; the Go loop beside the
// call does the rest, from 0 where there is no assembly. Both parts have the same order of operations, so the same bits.
type simd uint8

const (
	simdNone simd = iota
	simdAVX2
	simdAVX512
	simdNEON
)

// simd is the assembly that belongs to the set.
func (k *kernelSet) simd() simd {
	switch k.name {
	case "avx512":
		return simdAVX512
	case "avx2":
		return simdAVX2
	case "dotprod", "neon":
		return simdNEON
	}
	return simdNone
}

// deltaArgs is one row of one value head for the assembly of Delta, which reads it by the names in go_asm.h.
type deltaArgs struct {
	state  unsafe.Pointer // [keys, stride], written
	from   unsafe.Pointer // [keys, stride], read; may be state
	k      unsafe.Pointer // [keys]
	q      unsafe.Pointer // [keys]
	v      unsafe.Pointer // [cols]
	o      unsafe.Pointer // [cols], or nil
	keys   int
	stride int
	cols   int // multiple of 16
	decay  float32
	beta   float32
}

// groupArgs is four heads of an attention for assembly. Strides are in bytes.
type groupArgs struct {
	p      unsafe.Pointer // scores, [4, total]
	q      unsafe.Pointer // queries or sums, [4, dim]
	keys   unsafe.Pointer // keys or values of token 0
	runs   unsafe.Pointer // runs of tokens
	count  int            // of runs
	stride int            // from token to token
	dim    int            // from head to head of q
	z      unsafe.Pointer // sums of the scores, [4]; of values on amd64 only
	total  int            // from head to head of p
	scale  float32
}
