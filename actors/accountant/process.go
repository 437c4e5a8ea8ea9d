package accountant

import (
	"runtime/metrics"

	"github.com/flashlane/flashlane/metal/host"
)

// Resident is the process's resident memory in bytes as the system counts it, 0 where it is not asked.
func Resident() int64 {
	n, _ := host.Resident()
	return n
}

// Program is what the process holds beside its device's buffers, in bytes: Go's heap and stacks with the free room in them,
// and, where the system tells, pages of files. Device memory that lies apart from Go's heap is not in it (metal/cpu, arena).
func Program() int64 {
	_, files := host.Resident()
	return GoMemory() + files
}

// GoMemory is what Go's runtime took from the system and has not given back.
func GoMemory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
