//go:build !amd64 && !arm64

package cpu

// kernelSets lists the sets this machine can run, best first.
func kernelSets() []*kernelSet { return []*kernelSet{goKernels()} }
