package sample

// Multipliers and key increments of Philox4x32: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
const (
	philoxMul0  = 0xD2511F53
	philoxMul1  = 0xCD9E8D57
	philoxKey0  = 0x9E3779B9
	philoxKey1  = 0xBB67AE85
	philoxCount = 10
)

// philox is the bijection Philox4x32-10: four counter words and two key words in, four uniform words out.
func philox(c0, c1, c2, c3, k0, k1 uint32) (r0, r1, r2, r3 uint32) {
	for range philoxCount {
		a := uint64(philoxMul0) * uint64(c0)
		b := uint64(philoxMul1) * uint64(c2)
		c0, c1, c2, c3 = uint32(b>>32)^c1^k0, uint32(b), uint32(a>>32)^c3^k1, uint32(a)
		k0 += philoxKey0
		k1 += philoxKey1
	}
	return c0, c1, c2, c3
}
