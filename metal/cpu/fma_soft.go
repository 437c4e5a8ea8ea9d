//go:build !arm64

package cpu

// fma32 is a*b + c in float32 with a single rounding: the step of Linear and of the dot products in Select and Attend.
func fma32(a, b, c float32) float32 { return fmaSoft(a, b, c) }
