package ple

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrPlacement marks a placement that a pack cannot give; the reason and what to do are in the text.
var ErrPlacement = errors.New("ple: n-gram placement")

// Placement is where rows are read from. It changes no bit of them.
type Placement uint8

// The placements.
const (
	Auto   Placement = iota // memory for small tables and those that are there anyway, else mmap (docs/adr/0011)
	Memory                  // all rows in memory: copied at load, or read where they are embedded
	Mmap                    // warm rows through the mapping of the file, cold ones by position
	File                    // all rows by position
)

var placementNames = []string{"auto", "memory", "mmap", "file"}

// String is the placement's name.
func (p Placement) String() string { return placementNames[p] }

// ParsePlacement reads a placement; an unknown one is an error that lists them.
func ParsePlacement(s string) (Placement, error) {
	i := slices.Index(placementNames, s)
	if i < 0 {
		return Auto, fmt.Errorf("got %q, want one of %s", s, strings.Join(placementNames, ", "))
	}
	return Placement(i), nil
}

// AutoMemory is the largest table that [Auto] copies into memory: what a start does not notice.
const AutoMemory = 64 << 20

// copyBytes is how much of a plane is copied into memory at a time.
const copyBytes = 8 << 20

// Bytes is the length of all planes.
func (s *TableSpec) Bytes() (n int64) {
	for i := range s.Shards {
		for _, p := range s.Shards[i].planes() {
			n += p.Len
		}
	}
	return n
}

// Place settles where the rows of a valid spec are read from and returns the spec of just that. hold is asked for the
// memory of rows that are copied; what it refuses, Auto reads in place. Errors: ErrPlacement if the pack has no such place;
// what hold says; ErrRead if copying fails.
func (s TableSpec) Place(p Placement, hold func(bytes int64) ([]byte, error)) (TableSpec, error) {
	inFile, mapping, inMemory := true, true, true
	for i := range s.Shards {
		for _, x := range s.Shards[i].planes() {
			if x.empty() {
				continue
			}
			inFile = inFile && x.File != nil
			mapping = mapping && x.Mapping
			inMemory = inMemory && x.Mapped() && !x.Mapping
		}
	}
	bytes := s.Bytes()
	switch p {
	case Auto:
		if inMemory {
			return s.each(Memory, inPlace)
		}
		if bytes <= AutoMemory {
			if room, err := hold(bytes); err == nil {
				return s.copyTo(room)
			}
		}
		if mapping {
			return s.each(Mmap, inPlace)
		}
		return s.each(File, byPosition)
	case Memory:
		if inMemory {
			return s.each(Memory, inPlace)
		}
		room, err := hold(bytes)
		if err != nil {
			return s, fmt.Errorf("table %s: %d bytes of rows into memory: %w (or read them in place: --ngram-placement file or mmap)", s.Name, bytes, err)
		}
		return s.copyTo(room)
	case Mmap:
		if !mapping {
			return s, fmt.Errorf("%w mmap: table %s is not a file that can be mapped (an embedded pack has no files; its rows lie in the program): want auto or memory", ErrPlacement, s.Name)
		}
		return s.each(Mmap, inPlace)
	case File:
		if !inFile {
			return s, fmt.Errorf("%w file: table %s lies in no file (an embedded pack has no files; its rows lie in the program): want auto or memory", ErrPlacement, s.Name)
		}
		return s.each(File, byPosition)
	}
	return s, fmt.Errorf("%w: got %d", ErrPlacement, p)
}

// each applies place to every plane.
func (s TableSpec) each(p Placement, place func(Span) (Span, error)) (TableSpec, error) {
	shards := slices.Clone(s.Shards)
	for i := range shards {
		sh := &shards[i]
		for j, x := range []*Span{&sh.Weight, &sh.Scales, &sh.Biases} {
			if x.empty() {
				continue
			}
			var err error
			if *x, err = place(*x); err != nil {
				return s, fmt.Errorf("%w: table %s: shard %d: %s: %w", ErrRead, s.Name, i, planeNames[j], err)
			}
		}
	}
	s.Shards, s.Placement = shards, p
	return s, nil
}

// inPlace reads a plane where its bytes are in the address space.
func inPlace(x Span) (Span, error) { return x, nil }

// byPosition reads a plane from its file.
func byPosition(x Span) (Span, error) {
	x.Data, x.Mapping = nil, false
	return x, nil
}

// copyTo copies all rows.
func (s TableSpec) copyTo(room []byte) (TableSpec, error) {
	s.copied = true
	return s.each(Memory, copier(room))
}

// copier reads whole planes into room, one after another.
func copier(room []byte) func(Span) (Span, error) {
	return func(x Span) (Span, error) {
		data := room[:x.Len:x.Len]
		room = room[x.Len:]
		if x.File == nil { // a mapping without its file
			return Span{Data: data, Off: x.Off, Len: x.Len}, guard(func() error { copy(data, x.Data); return nil })
		}
		x.Data = nil
		for at := int64(0); at < x.Len; at += copyBytes {
			if err := x.read(data[at:min(at+copyBytes, x.Len)], at); err != nil {
				return x, err
			}
		}
		return Span{Data: data, Off: x.Off, Len: x.Len}, nil
	}
}

// Before puts a reader before every file that planes are read from by position.
func (s TableSpec) Before(wrap func(io.ReaderAt) io.ReaderAt) TableSpec {
	wrapped := map[io.ReaderAt]io.ReaderAt{}
	s, _ = s.each(s.Placement, func(x Span) (Span, error) { // which fails only if this does
		if x.Mapped() {
			return x, nil
		}
		if wrapped[x.File] == nil {
			wrapped[x.File] = wrap(x.File)
		}
		x.File = wrapped[x.File]
		return x, nil
	})
	return s
}
