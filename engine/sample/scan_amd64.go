//go:build !purego

package sample

// scanAVX2 writes the highest value of each of the blocks of row to maxima and returns the OR of all values' exponent.
//
//go:noescape
func scanAVX2(maxima, row *float32, blocks int) uint32

// scanBlocks is scanGeneric for whole blocks.
func scanBlocks(maxima, row []float32) uint32 {
	if !haveAVX2 || len(maxima) == 0 {
		return scanGeneric(maxima, row)
	}
	_ = row[len(maxima)*block-1]
	return scanAVX2(&maxima[0], &row[0], len(maxima))
}
