package cpu

import "math"

// bf16 is the f32 value of the bfloat16 in the low half of u.
func bf16(u uint32) float32 { return math.Float32frombits(u << 16) }
