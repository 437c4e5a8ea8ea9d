package ple

import (
	"reflect"
	"slices"
	"unsafe"
)

// extent is a named span for the overlap check.
type extent struct {
	where string
	span  Span
}

// base is the span's first byte in its address space: a memory address or a file offset.
func (e extent) base() uint64 {
	if e.span.Mapped() {
		return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(e.span.Data))))
	}
	return uint64(e.span.Off)
}

// shares tells whether two extents lie in one address space. Readers that cannot be compared count as apart.
func (e extent) shares(o extent) bool {
	if e.span.Mapped() || o.span.Mapped() {
		return e.span.Mapped() && o.span.Mapped()
	}
	a, b := reflect.ValueOf(e.span.File), reflect.ValueOf(o.span.File)
	return a.Comparable() && b.Comparable() && e.span.File == o.span.File
}

// overlap finds two extents that share bytes. Planes of one file are few files and many extents, so it sorts by
// start and looks at neighbours, file by file.
func overlap(all []extent) (a, b string, found bool) {
	var groups [][]extent
next:
	for _, e := range all {
		for i := range groups {
			if groups[i][0].shares(e) {
				groups[i] = append(groups[i], e)
				continue next
			}
		}
		groups = append(groups, []extent{e})
	}
	for _, g := range groups {
		slices.SortFunc(g, func(x, y extent) int {
			if x.base() < y.base() {
				return -1
			}
			if x.base() > y.base() {
				return 1
			}
			return 0
		})
		for i := 1; i < len(g); i++ {
			if g[i-1].base()+uint64(g[i-1].span.Len) > g[i].base() {
				return g[i-1].where, g[i].where, true
			}
		}
	}
	return "", "", false
}
