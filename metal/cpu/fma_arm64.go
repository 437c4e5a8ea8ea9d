package cpu

// fma32 is a*b + c in float32 with a single rounding: the step of Linear and of the dot products in Select and Attend.
// The Go compiler fuses this form to FMADDS on arm64; TestFMA fails if it ever stops.
func fma32(a, b, c float32) float32 { return a*b + c }
