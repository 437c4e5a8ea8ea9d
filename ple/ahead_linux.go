//go:build linux && (amd64 || arm64)

package ple

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// aheadOf is the Ahead of an open file, or nil.
func aheadOf(f io.ReaderAt) Ahead {
	if f, ok := f.(*os.File); ok {
		return &file{File: f, fd: f.Fd()}
	}
	return nil
}

// file is an open file by its descriptor.
type file struct {
	*os.File
	fd uintptr
}

// Unwrap is the file itself.
func (f *file) Unwrap() io.ReaderAt { return f.File }

// ReadNow implements Ahead by preadv2(2) with RWF_NOWAIT, which fails with EAGAIN rather than start a read. Whatever else
// goes wrong is for the read that waits to say.
func (f *file) ReadNow(p []byte, off int64) (bool, error) {
	if len(p) == 0 {
		return true, nil
	}
	vec := unix.Iovec{Base: unsafe.SliceData(p), Len: uint64(len(p))}
	n, _, errno := unix.Syscall6(unix.SYS_PREADV2, f.fd, uintptr(unsafe.Pointer(&vec)), 1, uintptr(off), 0, unix.RWF_NOWAIT)
	switch errno {
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL:
		return false, fmt.Errorf("preadv2 of %s: %w (%w)", f.Name(), errors.ErrUnsupported, errno)
	}
	return errno == 0 && int(n) == len(p), nil
}

// Fetch implements Ahead by posix_fadvise(2). A kernel that will not only makes the read that follows wait longer.
func (f *file) Fetch(off int64, n int) {
	_ = unix.Fadvise(int(f.fd), off, int64(n), unix.FADV_WILLNEED)
}
