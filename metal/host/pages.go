package host

import (
	"os"
	"unsafe"
)

// WholePages is the part of b that is whole pages, nil if there is none: advice to the system about more than that would be
// about its neighbours, too.
func WholePages(b []byte) []byte {
	page := uintptr(os.Getpagesize())
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from, to := (base+page-1)&^(page-1), (base+uintptr(len(b)))&^(page-1)
	if from >= to {
		return nil
	}
	return b[from-base : to-base : to-base]
}
