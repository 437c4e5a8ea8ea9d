package ple

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"sync/atomic"

	"github.com/flashlane/flashlane/metal"
)

// Table reads exact rows of an n-gram table where it lies: it copies nothing into memory but the rows asked for. Ids and
// offsets are checked before anything is read, and a file that fails, is cut short or faults under its mapping is an error.
// It is immutable and safe for concurrent use; the spans behind it must outlive it.
type Table struct {
	spec   TableSpec
	each   int64       // rows per shard
	weight int         // bytes of a row in the weight plane
	side   int         // bytes of a row in each of the scale and bias planes
	mapped bool        // all planes are in memory, or mapped to it
	faults bool        // some are mappings of files
	watch  []watched   // the files that rows are read from
	ahead  [][3]Ahead  // of every shard's planes, or nil
	blind  atomic.Bool // some file cannot tell after all

	before int64        // bytes of files in the process when the table was opened
	most   int64        // MappedMost
	copies atomic.Int64 // rows copied from a mapping
}

// OpenTable checks the spec (see [TableSpec.Validate]) and, where a file can tell its size, that every plane lies inside
// it. Errors wrap ErrTable.
func OpenTable(spec TableSpec) (*Table, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	t := &Table{spec: spec, each: spec.Rows / int64(len(spec.Shards)), mapped: true}
	t.weight, t.side, _ = spec.planes()
	for i := range spec.Shards {
		for j, p := range spec.Shards[i].planes() {
			if p.empty() {
				continue
			}
			t.mapped, t.faults = t.mapped && p.Mapped(), t.faults || p.Mapping
			if p.Mapping {
				adviseRandom(p.Data)
			}
			if err := p.inside(); err != nil {
				return nil, fmt.Errorf("%w: %s: shard %d: %s: %w", ErrTable, spec.Name, i, planeNames[j], err)
			}
			t.watch = watch(t.watch, p)
		}
	}
	if t.faults {
		t.before, t.most = filePages(), MappedMost
	}
	t.ahead = aheads(spec.Shards)
	return t, nil
}

// planeNames names a shard's planes in the order of a row's record.
var planeNames = [3]string{"weight", "scales", "biases"}

// planes lists the shard's spans in the order of a row's record.
func (s *Shard) planes() [3]Span { return [3]Span{s.Weight, s.Scales, s.Biases} }

// inside checks the span against the size of its file, where the file can tell it.
func (s Span) inside() error {
	info, size, err := s.stat()
	if err != nil || size < 0 {
		return err
	}
	if info != nil && !info.Mode().IsRegular() {
		return fmt.Errorf("file %s: got mode %s, want a regular file", info.Name(), info.Mode())
	}
	if s.Off+s.Len > size {
		return fmt.Errorf("got bytes %d to %d, want them inside the file's %d", s.Off, s.Off+s.Len, size)
	}
	return nil
}

// stat is what the span's file tells of itself: all (info), or its size; -1 if the span is read from memory or the file tells nothing.
func (s Span) stat() (info fs.FileInfo, size int64, err error) {
	if s.Mapped() && !s.Mapping || s.File == nil {
		return nil, -1, nil
	}
	switch f := under(s.File).(type) {
	case interface{ Size() int64 }:
		return nil, f.Size(), nil
	case interface{ Stat() (fs.FileInfo, error) }:
		info, err := f.Stat()
		if err != nil {
			return nil, -1, err
		}
		return info, info.Size(), nil
	}
	return nil, -1, nil
}

// Name is the table's name in the pack.
func (t *Table) Name() string { return t.spec.Name }

// Rows is the number of rows.
func (t *Table) Rows() int64 { return t.spec.Rows }

// Dim is the number of values in a row.
func (t *Table) Dim() int { return t.spec.Dim }

// Format is how the rows are stored.
func (t *Table) Format() metal.Format { return t.spec.Format }

// Shards is the number of shards.
func (t *Table) Shards() int { return len(t.spec.Shards) }

// Mapped reports whether all rows are in memory or mapped to it: reading one then needs no system call.
func (t *Table) Mapped() bool { return t.mapped }

// Placement is where rows are read from.
func (t *Table) Placement() Placement {
	switch {
	case t.spec.Placement != Auto:
		return t.spec.Placement
	case !t.mapped:
		return File
	case t.faults:
		return Mmap
	}
	return Memory
}

// Embedded reports whether rows are read where the program has them, neither copied nor from a file.
func (t *Table) Embedded() bool { return t.Placement() == Memory && !t.spec.copied }

// Bytes is the length of all planes.
func (t *Table) Bytes() int64 { return t.spec.Bytes() }

// RowBytes is the length of a row's record: its weight, scale and bias bytes one after the other.
func (t *Table) RowBytes() int { return t.weight + 2*t.side }

// PlaneBytes is the length of a row in the weight, scale and bias plane; the last two are 0 for unquantised rows.
func (t *Table) PlaneBytes() [3]int { return [3]int{t.weight, t.side, t.side} }

// Read copies the record of a row to dst [RowBytes]. A row out of range or a failed or short read is an error that wraps
// ErrRead (and the reader's own error, in a [ReadError]); dst is then undefined.
func (t *Table) Read(dst []byte, row int64) error {
	if row < 0 || row >= t.spec.Rows {
		return t.outside(row)
	}
	if len(dst) != t.RowBytes() {
		panic(fmt.Sprintf("ple: Table.Read: got room for %d bytes, want %d", len(dst), t.RowBytes()))
	}
	sh := &t.spec.Shards[row/t.each]
	at := row % t.each
	if t.mapped {
		if !t.faults {
			t.copy(dst, sh, at)
			return nil
		}
		if err := t.copyMapping(dst, sh, at); err != nil {
			return t.failed(row, err)
		}
		return nil
	}
	bytes := t.PlaneBytes()
	for j, p := range sh.planes() {
		if bytes[j] == 0 {
			continue
		}
		if err := p.read(dst[:bytes[j]], at*int64(bytes[j])); err != nil {
			return t.failed(row, fmt.Errorf("%s: %w", planeNames[j], err))
		}
		dst = dst[bytes[j]:]
	}
	return nil
}

// copy takes the record of a shard's row out of memory.
func (t *Table) copy(dst []byte, sh *Shard, at int64) {
	w, s := int64(t.weight), int64(t.side)
	copy(dst[:w], sh.Weight.Data[at*w:])
	if s > 0 {
		copy(dst[w:w+s], sh.Scales.Data[at*s:])
		copy(dst[w+s:], sh.Biases.Data[at*s:])
	}
}

// copyMapping is copy under [guard]; by itself, so that a row costs no closure.
func (t *Table) copyMapping(dst []byte, sh *Shard, at int64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = faulted(v)
		}
	}()
	t.copy(dst, sh, at)
	t.trim()
	return nil
}

func (t *Table) outside(row int64) error {
	return fmt.Errorf("%w: %s: row: got %d, want 0 to %d", ErrRead, t.spec.Name, row, t.spec.Rows-1)
}

// read copies len(dst) bytes of the span from off on.
func (s Span) read(dst []byte, off int64) error {
	if s.Mapped() {
		copy(dst, s.Data[off:])
		return nil
	}
	return ReadFull(s.File, dst, s.Off+off)
}

// ReadFull fills dst from off on, or says how much there was; a file that ends early is an io.ErrUnexpectedEOF.
func ReadFull(f io.ReaderAt, dst []byte, off int64) error {
	n, err := f.ReadAt(dst, off)
	if n == len(dst) {
		return nil // ReadAt may say EOF together with the file's last bytes
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("got %d of %d bytes at offset %d: %w (was the file changed?)", n, len(dst), off, io.ErrUnexpectedEOF)
	}
	return err
}
