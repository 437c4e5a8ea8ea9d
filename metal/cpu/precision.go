package cpu

import "fmt"

// Precision is how products are done. It is part of the device kind, since the bits differ. Attention, norms, the delta rule and all
// else that is no product with a weight is f32 in both.
type Precision uint8

const (
	// Exact takes activations as f32 (fixed.go, kernels.go) and weights as the pack has them. It is the default.
	Exact Precision = iota
	// Fast rounds activations to 8 bits with a scale for each quantisation group (fast.go) and has 8-bit codes for weights that
	// the pack has in 16 or 32 bits (encode.go).
	Fast
)

// String is the name that ParsePrecision takes.
func (p Precision) String() string {
	if p == Fast {
		return "fast"
	}
	return "exact"
}

// kind is the device kind of the precision: all kernel sets have the same bits in each.
func (p Precision) kind() string {
	if p == Fast {
		return "cpu/i8"
	}
	return "cpu/f32"
}

// ParsePrecision is the precision of that name, "exact" or "fast".
func ParsePrecision(name string) (Precision, error) {
	for _, p := range []Precision{Exact, Fast} {
		if p.String() == name {
			return p, nil
		}
	}
	return Exact, fmt.Errorf("cpu: precision: got %q, want %q (activations stay f32) or %q (8-bit numbers)", name, Exact, Fast)
}
