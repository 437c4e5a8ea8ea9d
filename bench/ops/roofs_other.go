//go:build !amd64

package ops

// probes has no vectors here yet: the peak is that of scalar code, and is called so.
func probes() probe { return scalar() }
