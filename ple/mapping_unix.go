//go:build unix

package ple

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseRandom tells the kernel that rows are read here and there: else each fault brings in megabytes around it. Pages
// that the plane shares with its neighbours in the file are left alone, for they may be weights. A refusal costs speed only.
func adviseRandom(data []byte) {
	if b := whole(data); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_RANDOM)
	}
}

// whole is the part of a mapping that is whole pages.
func whole(data []byte) []byte {
	page := uintptr(os.Getpagesize())
	base := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	from, to := (base+page-1)&^(page-1), (base+uintptr(len(data)))&^(page-1)
	if to <= from {
		return nil
	}
	return data[from-base : to-base]
}
