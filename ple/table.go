package ple

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/flashlane/flashlane/metal"
)

// Table reads exact rows of an n-gram table where it lies: it copies nothing into memory but the rows asked for.
// It is immutable and safe for concurrent use; the spans behind it must outlive it.
type Table struct {
	spec   TableSpec
	each   int64 // rows per shard
	weight int   // bytes of a row in the weight plane
	side   int   // bytes of a row in each of the scale and bias planes
	mapped bool  // all planes are in memory
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
			t.mapped = t.mapped && p.Mapped()
			if err := p.inside(); err != nil {
				return nil, fmt.Errorf("%w: %s: shard %d: %s: %w", ErrTable, spec.Name, i, planeNames[j], err)
			}
		}
	}
	return t, nil
}

// planeNames names a shard's planes in the order of a row's record.
var planeNames = [3]string{"weight", "scales", "biases"}

// planes lists the shard's spans in the order of a row's record.
func (s *Shard) planes() [3]Span { return [3]Span{s.Weight, s.Scales, s.Biases} }

// inside checks the span against the size of its file, where the file can tell it.
func (s Span) inside() error {
	if s.Mapped() {
		return nil
	}
	var size int64
	switch f := s.File.(type) {
	case interface{ Size() int64 }:
		size = f.Size()
	case interface{ Stat() (fs.FileInfo, error) }:
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("file %s: got mode %s, want a regular file", info.Name(), info.Mode())
		}
		size = info.Size()
	default:
		return nil
	}
	if s.Off+s.Len > size {
		return fmt.Errorf("got bytes %d..%d, want them inside the file's %d", s.Off, s.Off+s.Len, size)
	}
	return nil
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

// Mapped reports whether all rows are in mapped memory: reading one then needs no system call.
func (t *Table) Mapped() bool { return t.mapped }

// RowBytes is the length of a row's record: its weight, scale and bias bytes one after the other.
func (t *Table) RowBytes() int { return t.weight + 2*t.side }

// PlaneBytes is the length of a row in the weight, scale and bias plane; the last two are 0 for unquantised rows.
func (t *Table) PlaneBytes() [3]int { return [3]int{t.weight, t.side, t.side} }

// Read copies the record of a row to dst [RowBytes]. A row out of range or a failed or short read is an error that wraps
// ErrRead (and the reader's own error); dst is then undefined.
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
		w, s := int64(t.weight), int64(t.side)
		copy(dst[:w], sh.Weight.Data[at*w:])
		if s > 0 {
			copy(dst[w:w+s], sh.Scales.Data[at*s:])
			copy(dst[w+s:], sh.Biases.Data[at*s:])
		}
		return nil
	}
	bytes := t.PlaneBytes()
	for j, p := range sh.planes() {
		if bytes[j] == 0 {
			continue
		}
		if err := p.read(dst[:bytes[j]], at*int64(bytes[j])); err != nil {
			return fmt.Errorf("%w: %s: row %d: %s: %w", ErrRead, t.spec.Name, row, planeNames[j], err)
		}
		dst = dst[bytes[j]:]
	}
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
	n, err := s.File.ReadAt(dst, s.Off+off)
	if n == len(dst) {
		return nil // ReadAt may say EOF together with the file's last bytes
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("got %d of %d bytes at offset %d: %w", n, len(dst), s.Off+off, io.ErrUnexpectedEOF)
	}
	return err
}
