//go:build unix

package pack

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps f read-only. The bytes stay valid until unmap is called.
func mapFile(f *os.File) (data []byte, mapped bool, unmap func() error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, false, nil, err
	}
	size := st.Size()
	if size == 0 { // mmap refuses an empty range
		return nil, false, func() error { return nil }, nil
	}
	if size > math.MaxInt {
		return nil, false, nil, corrupt("got %d bytes, more than this machine can address", size)
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, false, nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	return data, true, func() error { return unix.Munmap(data) }, nil
}
