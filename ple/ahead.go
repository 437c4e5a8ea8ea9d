package ple

import (
	"io"
	"reflect"
)

// Ahead is a file that tells bytes in memory from bytes on disk, so that one goroutine can have many reads under way: it
// takes what is there, asks for all the rest at once, and only then waits. Rows in memory cost one call each and no more.
// An *os.File is one where the system can do it (Linux).
type Ahead interface {
	io.ReaderAt
	// ReadNow fills p from off on if that needs no disk, and else reports false; p is then undefined. An error that wraps
	// errors.ErrUnsupported says that this file cannot tell.
	ReadNow(p []byte, off int64) (bool, error)
	// Fetch asks for n bytes from off on to be brought to memory, and does not wait for them.
	Fetch(off int64, n int)
}

// aheads gives every plane of every shard its Ahead, or nil if one has none.
func aheads(shards []Shard) [][3]Ahead {
	out := make([][3]Ahead, len(shards))
	opened := map[io.ReaderAt]Ahead{}
	for i := range shards {
		for j, p := range shards[i].planes() {
			if p.empty() {
				continue
			}
			if p.File == nil || p.Mapped() && !p.Mapping {
				return nil
			}
			if !reflect.TypeOf(p.File).Comparable() {
				return nil
			}
			a := opened[p.File]
			if a == nil {
				if a = OpenAhead(p.File); a == nil {
					return nil
				}
				opened[p.File] = a
			}
			out[i][j] = a
		}
	}
	return out
}

// under is the file below wrappers that tell it by Unwrap.
func under(f io.ReaderAt) io.ReaderAt {
	for {
		w, ok := f.(interface{ Unwrap() io.ReaderAt })
		if !ok {
			return f
		}
		f = w.Unwrap()
	}
}

// OpenAhead is f as an Ahead, or nil if it is none: for readers that stand before a file and pass its answers on.
func OpenAhead(f io.ReaderAt) Ahead {
	if a, ok := f.(Ahead); ok {
		return a
	}
	return aheadOf(f)
}
