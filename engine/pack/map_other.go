//go:build !unix

package pack

import (
	"io"
	"math"
	"os"
)

// mapFile reads f whole where there is no mmap.
func mapFile(f *os.File) (data []byte, mapped bool, unmap func() error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, false, nil, err
	}
	if st.Size() > math.MaxInt {
		return nil, false, nil, corrupt("got %d bytes, more than this machine can address", st.Size())
	}
	data = make([]byte, st.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, false, nil, err
	}
	return data, false, func() error { return nil }, nil
}
