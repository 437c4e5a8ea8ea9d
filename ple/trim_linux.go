package ple

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// filePages is the process's resident pages of files, in bytes; 0 when the system does not tell.
func filePages() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(raw)
	if len(f) < 3 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[2]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// dropMapped lets whole pages of a mapped file leave the process. A refusal costs memory only.
func dropMapped(b []byte) {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED)
	}
}
