//go:build !linux || race

package cpu

// pagesApart: here memory is Go's. Under the race detector it is, too: it watches nothing else.
const pagesApart = false

const pageSize = 4096

func mapPages(int, bool) ([]byte, bool) { return nil, false }
func dropPages([]byte)                  {}
func unmapPages([]byte)                 {}
