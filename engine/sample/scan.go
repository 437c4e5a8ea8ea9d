package sample

import "math"

// block is how many logits share one entry of a row's maxima. It is a lap, so that the race can use them.
const block = lap

// scan writes the highest value of each block of row to maxima, the last block of what remains, and reports whether all of
// row is finite (if not, the maxima mean nothing). It returns maxima, which grows as needed. Of two zeros of unlike sign either may be
// written: they are equal logits.
func scan(maxima []float32, row []float32) ([]float32, bool) {
	n := (len(row) + block - 1) / block
	if cap(maxima) < n {
		maxima = make([]float32, n)
	}
	maxima = maxima[:n]
	whole := len(row) / block
	worst := scanBlocks(maxima[:whole], row[:whole*block])
	if whole < n {
		worst |= scanGeneric(maxima[whole:], row[whole*block:])
	}
	return maxima, worst>>31 == 0
}

// scanGeneric is scanBlocks on any machine, and takes a last block that is short. The top bit of what it returns is set if a value
// is NaN or infinite.
func scanGeneric(maxima, row []float32) (worst uint32) {
	for b := range maxima {
		part := row[b*block : min(b*block+block, len(row))]
		high := negInf
		for _, x := range part {
			worst |= exponent(x)
			high = max(high, x)
		}
		maxima[b] = high
	}
	return worst
}

// exponent has its top bit set if x is NaN or infinite: adding one to an exponent of all ones carries into the sign bit.
func exponent(x float32) uint32 { return math.Float32bits(x)&0x7fffffff + 0x00800000 }

// argmax returns the highest value of row, whose blocks have these maxima, and the lowest id that has it; id -1 if all are
// minus infinity.
func argmax(row, maxima []float32) (float32, int32) {
	best, at := negInf, -1
	for b, x := range maxima {
		if x > best {
			best, at = x, b
		}
	}
	if at < 0 {
		return negInf, -1
	}
	for i, x := range row[at*block:] {
		if x == best {
			return x, int32(at*block + i)
		}
	}
	return negInf, -1 // not reached: a block has its highest value
}
