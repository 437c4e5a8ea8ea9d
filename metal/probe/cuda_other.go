//go:build !linux || !(amd64 || arm64)

package probe

// cuda is looked for on Linux only.
func cuda() string { return "not looked for on this system" }
