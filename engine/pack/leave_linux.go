package pack

import (
	"golang.org/x/sys/unix"

	"github.com/flashlane/flashlane/metal/host"
)

// leavePages lets the whole pages inside of b leave the process. A mapping's stay in the system's cache. The program's own
// text may not be dropped by hand (under a packer its pages belong to no file), so the system is asked to page it out,
// which is right for any memory; it does so only for the owner of the file.
func leavePages(b []byte, mapped bool) {
	whole := host.WholePages(b)
	if whole == nil {
		return
	}
	advice := unix.MADV_PAGEOUT
	if mapped {
		advice = unix.MADV_DONTNEED
	}
	_ = unix.Madvise(whole, advice) // a system that refuses keeps the pages: nothing is lost
}
