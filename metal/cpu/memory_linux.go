//go:build linux

package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks the kernel to back a block of memory with huge pages: weights are walked end to end in every pass, and
// small pages cost a miss in the page cache every 4 KiB. A kernel that refuses costs speed only.
func hugePages(b []byte) {
	const page = 2 << 20
	from := (uintptr(unsafe.Pointer(unsafe.SliceData(b))) + page - 1) &^ (page - 1)
	to := (uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b))) &^ (page - 1)
	if to > from {
		_ = unix.Madvise(b[from-uintptr(unsafe.Pointer(unsafe.SliceData(b))):][:to-from], unix.MADV_HUGEPAGE)
	}
}
