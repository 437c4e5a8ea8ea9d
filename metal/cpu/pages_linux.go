//go:build linux && !race

package cpu

import (
	"os"

	"golang.org/x/sys/unix"
)

// pagesApart says that arenas have pages of their own.
const pagesApart = true

var pageSize = os.Getpagesize()

// mapPages returns n bytes of zeroed pages, none of which is there before it is touched; false: the system refuses.
func mapPages(n int, huge bool) ([]byte, bool) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, false
	}
	if huge {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a kernel that refuses costs speed only
	}
	return b, true
}

// dropPages lets whole pages leave the process; they read as zero when they come back.
func dropPages(b []byte) {
	if unix.Madvise(b, unix.MADV_DONTNEED) != nil {
		clear(b) // they stay, and are what the next one expects
	}
}

func unmapPages(b []byte) { _ = unix.Munmap(b) }
