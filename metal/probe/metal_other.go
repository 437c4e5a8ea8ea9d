//go:build !darwin || !arm64

package probe

// metal exists on Apple machines only.
func metal() string { return "not an Apple machine" }
