//go:build unix

package ple

import (
	"golang.org/x/sys/unix"

	"github.com/flashlane/flashlane/metal/host"
)

// adviseRandom tells the kernel that rows are read here and there: else each fault brings in megabytes around it. Pages
// that the plane shares with its neighbours in the file are left alone, for they may be weights. A refusal costs speed only.
func adviseRandom(data []byte) {
	if b := host.WholePages(data); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_RANDOM)
	}
}
