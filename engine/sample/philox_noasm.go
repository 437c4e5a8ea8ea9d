//go:build !amd64 || purego

package sample

// fillBits sets dst[i] to bits52 of ids[i], for i below count.
func (n Noise) fillBits(dst *[lap]uint64, ids *[lap]int32, count int, d Domain, pos uint32) {
	n.fillBitsGeneric(dst, ids, count, d, pos)
}
