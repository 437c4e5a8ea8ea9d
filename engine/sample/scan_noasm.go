//go:build !amd64 || purego

package sample

// scanBlocks is scanGeneric for whole blocks.
func scanBlocks(maxima, row []float32) uint32 { return scanGeneric(maxima, row) }
