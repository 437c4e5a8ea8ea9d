//go:build !linux

package cpu

import "runtime"

// memTotal is the memory this process may use in bytes; 0: the system offers no portable way to ask.
func memTotal() int64 { return 0 }

// cpuName is what the machine calls its processor.
func cpuName() string { return runtime.GOARCH }
