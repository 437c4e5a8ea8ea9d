//go:build !amd64 && !arm64

package cpu

// Without assembly the Go loops do everything: no head is taken.

func headSquares(simd, *[16]float32, []float32) int                       { return 0 }
func headMax(simd, *[16]float32, []float32) int                           { return 0 }
func headDot(_ simd, _ *[16]float32, _, _ []float32) int                  { return 0 }
func headDotFused(_ simd, _ *[16]float32, _, _ []float32) int             { return 0 }
func headScale(_ simd, _, _, _ []float32, _ float32) int                  { return 0 }
func headMul(_ simd, _, _, _ []float32) int                               { return 0 }
func headMulAdd(_ simd, _, _, _ []float32) int                            { return 0 }
func headScores(_ simd, _, _, _ []float32, _ []run, _ int, _ float32) int { return 0 }
func headValues(_ simd, _, _, _ []float32, _ []run, _ int) int            { return 0 }
func headDelta(_ simd, _, _, _, _, _, _ []float32, _, _ float32) int      { return 0 }

func groupScores(simd, []float32, []float32, []float32, []run, int, int, int, float32) bool {
	return false
}
func groupValues(simd, *[4]float32, []float32, []float32, []float32, []run, int, int, int) bool {
	return false
}

func headConv4(simd, []float32, *[4][]float32, []float32, int) (int, bool) { return 0, false }
