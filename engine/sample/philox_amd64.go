//go:build !purego

package sample

import "golang.org/x/sys/cpu"

// haveAVX2 lets fillBits take the vector path; its integers are those of the portable one, so it is no part of a result.
var haveAVX2 = cpu.X86.HasAVX2

// philoxAVX2 writes the 52 bits of 8*eights ids to dst; both are 8*eights long. Rounds of eight counters run side by side.
//
//go:noescape
func philoxAVX2(dst *uint64, ids *int32, eights int, pos, choice, domain, k0, k1 uint32)

// fillBits sets dst[i] to bits52 of ids[i], for i below n. Entries up to the next multiple of 8 are overwritten.
func (n Noise) fillBits(dst *[lap]uint64, ids *[lap]int32, count int, d Domain, pos uint32) {
	if !haveAVX2 {
		n.fillBitsGeneric(dst, ids, count, d, pos)
		return
	}
	philoxAVX2(&dst[0], &ids[0], (count+7)/8, pos, n.Choice, uint32(d), uint32(n.Seed), uint32(n.Seed>>32))
}
