//go:build amd64

package ops

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func fmaAVX512(n int)

//go:noescape
func readAVX512(p *byte, n int)

//go:noescape
func fmaAVX2(n int)

//go:noescape
func readAVX2(p *byte, n int)

// probes picks the widest vectors of this machine.
func probes() probe {
	switch {
	case cpu.X86.HasAVX512F:
		return probe{kind: "avx512 f32", flops: 24 * 16 * 2, fma: fmaAVX512, read: func(b []uint64) { readAVX512((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/64) }}
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return probe{kind: "avx2 f32", flops: 12 * 8 * 2, fma: fmaAVX2, read: func(b []uint64) { readAVX2((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/32) }}
	}
	return scalar()
}
