package ple

import "golang.org/x/sys/unix"

// dropMapped lets whole pages of a mapped file leave the process. A refusal costs memory only.
func dropMapped(b []byte) {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED)
	}
}
