package cpu

// expertIDs is what the assembly of a router of 16 experts compresses.
//
//lint:ignore U1000 read by the assembly
var expertIDs = [16]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// routeRow is the softmax of a row and its largest values, without renorm, if the set has assembly for so many experts and none is NaN.
func routeRow(k simd, ids []int32, w, logits []float32) bool {
	if k != simdAVX512 || len(logits) != 16 || len(ids) == 0 || len(ids) > 16 {
		return false
	}
	return routeAVX512(&ids[0], &w[:len(ids)][0], &logits[0], len(ids))
}

//go:noescape
func routeAVX512(ids *int32, w, logits *float32, k int) bool
