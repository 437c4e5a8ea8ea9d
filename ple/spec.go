package ple

import (
	"errors"
	"fmt"
	"io"

	"github.com/flashlane/flashlane/metal"
)

// Errors of this package, to be asked for with errors.Is.
var (
	// ErrTable marks a table description that does not fit together: got, want and the plane are in the text.
	ErrTable = errors.New("ple: bad table")
	// ErrRead marks a failed read of table rows: an I/O error, a short file, a row past the end.
	ErrRead = errors.New("ple: table read")
)

// Span is where the bytes of one plane of a shard are: Len bytes in memory (Data, mapped or embedded) or in a file
// from Off on. Data wins when both are set. Data is read in place and must outlive the table; it is never written.
type Span struct {
	Data    []byte
	Mapping bool // Data is the mapping of a file: reading it may fault
	File    io.ReaderAt
	Off     int64 // first byte in File; where Data came from, for overlap checks and errors
	Len     int64 // bytes
}

// Mapped reports whether the bytes are in memory.
func (s Span) Mapped() bool { return s.Data != nil }

// empty reports whether the plane is absent.
func (s Span) empty() bool { return s.Data == nil && s.File == nil && s.Len == 0 }

// Shard is a run of consecutive rows. A row's record is its bytes of Weight, then of Scales, then of Biases
// (Q8 and Q4 only, bf16, Dim/Group of each).
type Shard struct {
	Rows                   int64
	Weight, Scales, Biases Span
}

// TableSpec describes an n-gram table as the pack stores it (spec 2.7.2, 5.3): Rows x Dim in one Format, cut into
// shards of equal row counts, logical row r in shard r / (Rows/len(Shards)).
type TableSpec struct {
	Name   string // tensor name, for errors
	Rows   int64
	Dim    int          // columns, one head's width: ple_embed_dim / PerRow
	Format metal.Format // BF16, F32, F16, Q8, Q4
	Group  int          // quantisation group along Dim (Q8, Q4), else 0
	Shards []Shard

	Placement Placement // as Place settled it; Auto: as the spans are
	copied    bool      // into memory that Place was given
}

// planes gives the bytes of one row in each of the three planes.
func (s *TableSpec) planes() (weight, side int, err error) {
	if s.Dim <= 0 || s.Dim > 1<<20 {
		return 0, 0, fmt.Errorf("%w: %s: dim: got %d, want 1 to %d", ErrTable, s.Name, s.Dim, 1<<20)
	}
	bits := 0
	switch s.Format {
	case metal.FormatF32:
		weight = 4 * s.Dim
	case metal.FormatF16, metal.FormatBF16:
		weight = 2 * s.Dim
	case metal.FormatQ8:
		bits = 8
	case metal.FormatQ4:
		bits = 4
	default:
		return 0, 0, fmt.Errorf("%w: %s: format: got %d, want f32, f16, bf16, q8 or q4", ErrTable, s.Name, s.Format)
	}
	if bits == 0 {
		if s.Group != 0 {
			return 0, 0, fmt.Errorf("%w: %s: group: got %d with %s rows, want 0", ErrTable, s.Name, s.Group, s.Format)
		}
		return weight, 0, nil
	}
	if s.Dim*bits%32 != 0 {
		return 0, 0, fmt.Errorf("%w: %s: dim: got %d, want a multiple of %d so that %s codes fill 32-bit words", ErrTable, s.Name, s.Dim, 32/bits, s.Format)
	}
	if s.Group <= 0 || s.Dim%s.Group != 0 {
		return 0, 0, fmt.Errorf("%w: %s: group: got %d, want a divisor of dim %d", ErrTable, s.Name, s.Group, s.Dim)
	}
	return s.Dim * bits / 8, s.Dim / s.Group * 2, nil
}

// rowBits bounds a table's rows: 10^12 of them, three thousand times the released one.
const rowBits = 40

// Validate checks that the planes fit together: equal shard rows that sum to Rows, every plane as long as its rows
// ask, none missing or superfluous, none overlapping another of the same file or memory. Errors wrap ErrTable.
func (s *TableSpec) Validate() error {
	weight, side, err := s.planes()
	if err != nil {
		return err
	}
	n := int64(len(s.Shards))
	if n == 0 {
		return fmt.Errorf("%w: %s: shards: got none", ErrTable, s.Name)
	}
	if s.Rows <= 0 || s.Rows%n != 0 {
		return fmt.Errorf("%w: %s: rows: got %d over %d shards, want a positive multiple", ErrTable, s.Name, s.Rows, n)
	}
	if s.Rows > 1<<rowBits {
		return fmt.Errorf("%w: %s: rows: got %d, want %d at most", ErrTable, s.Name, s.Rows, int64(1)<<rowBits)
	}
	each := s.Rows / n
	var all []extent
	for i := range s.Shards {
		sh := &s.Shards[i]
		if sh.Rows != each {
			return fmt.Errorf("%w: %s: shard %d: got %d rows, want %d (all shards equal)", ErrTable, s.Name, i, sh.Rows, each)
		}
		for _, p := range []struct {
			name string
			span Span
			row  int
		}{{"weight", sh.Weight, weight}, {"scales", sh.Scales, side}, {"biases", sh.Biases, side}} {
			if p.row == 0 {
				if !p.span.empty() {
					return fmt.Errorf("%w: %s: shard %d: %s: got a plane, want none with %s rows", ErrTable, s.Name, i, p.name, s.Format)
				}
				continue
			}
			if err := p.span.check(each, p.row); err != nil {
				return fmt.Errorf("%w: %s: shard %d: %s: %w", ErrTable, s.Name, i, p.name, err)
			}
			all = append(all, extent{where: fmt.Sprintf("shard %d %s", i, p.name), span: p.span})
		}
	}
	if a, b, ok := overlap(all); ok {
		return fmt.Errorf("%w: %s: %s and %s overlap in the file", ErrTable, s.Name, a, b)
	}
	return nil
}

// check tells whether the span holds rows records of row bytes.
func (s Span) check(rows int64, row int) error {
	want := rows * int64(row) // below 2^63: rowBits and dim's limit see to it
	if s.Len != want {
		return fmt.Errorf("got %d bytes, want %d (%d rows of %d)", s.Len, want, rows, row)
	}
	if s.Data != nil {
		if int64(len(s.Data)) != s.Len {
			return fmt.Errorf("got %d bytes in memory, want %d", len(s.Data), s.Len)
		}
		return nil
	}
	if s.File == nil {
		return errors.New("got neither memory nor a file")
	}
	if s.Off < 0 || s.Off > 1<<62-want {
		return fmt.Errorf("offset: got %d", s.Off)
	}
	return nil
}
