package pack

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leavePages lets the whole pages inside of b leave the process. A mapping's stay in the system's cache. The program's own
// text may not be dropped by hand (under a packer its pages belong to no file), so the system is asked to page it out,
// which is right for any memory; it does so only for the owner of the file.
func leavePages(b []byte, mapped bool) {
	page := uintptr(os.Getpagesize())
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from, to := (base+page-1)&^(page-1), (base+uintptr(len(b)))&^(page-1)
	if from >= to {
		return
	}
	advice := unix.MADV_PAGEOUT
	if mapped {
		advice = unix.MADV_DONTNEED
	}
	_ = unix.Madvise(b[from-base:to-base:to-base], advice) // a system that refuses keeps the pages: nothing is lost
}
