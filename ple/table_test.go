package ple_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

var tables = map[string]pletest.Table{
	"f32":           {Rows: 60, Dim: 10, Format: metal.FormatF32, Shards: 3, Seed: 1},
	"f16":           {Rows: 60, Dim: 10, Format: metal.FormatF16, Seed: 2},
	"bf16":          {Rows: 60, Dim: 7, Format: metal.FormatBF16, Shards: 4, Seed: 3},
	"q8":            {Rows: 60, Dim: 24, Format: metal.FormatQ8, Group: 6, Shards: 2, Seed: 4},
	"q4":            {Rows: 60, Dim: 64, Format: metal.FormatQ4, Group: 32, Shards: 5, Seed: 5},
	"q4 odd group":  {Rows: 6, Dim: 40, Format: metal.FormatQ4, Group: 5, Seed: 6},
	"q4 file":       {Rows: 60, Dim: 64, Format: metal.FormatQ4, Group: 32, Shards: 5, Seed: 5, InFile: true},
	"bf16 file":     {Rows: 60, Dim: 7, Format: metal.FormatBF16, Shards: 4, Seed: 3, InFile: true},
	"one row, q4":   {Rows: 1, Dim: 8, Format: metal.FormatQ4, Group: 8, Seed: 7},
	"a row a shard": {Rows: 5, Dim: 3, Format: metal.FormatF32, Shards: 5, Seed: 8, InFile: true},
}

// plane is the bytes of a span, wherever they lie.
func plane(s ple.Span) []byte {
	if s.Data != nil {
		return s.Data
	}
	return s.File.(*pletest.Reader).Data[s.Off : s.Off+s.Len]
}

func bf(b []byte, i int) float64 {
	return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
}

// element is value c of a row by the definition of spec 5.3, in f64.
func element(spec ple.TableSpec, row int64, c int) float64 {
	each := spec.Rows / int64(len(spec.Shards))
	sh, at := spec.Shards[row/each], int(row%each)
	i := at*spec.Dim + c
	w := plane(sh.Weight)
	switch spec.Format {
	case metal.FormatF32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(w[4*i:])))
	case metal.FormatBF16:
		return bf(w, i)
	case metal.FormatF16:
		h := binary.LittleEndian.Uint16(w[2*i:])
		m := float64(h & 1023)
		if e := int(h >> 10 & 31); e == 0 {
			m = math.Ldexp(m, -24)
		} else {
			m = math.Ldexp(m+1024, e-25)
		}
		if h&0x8000 != 0 {
			m = -m
		}
		return m
	}
	bits := 8
	if spec.Format == metal.FormatQ4 {
		bits = 4
	}
	per := 32 / bits
	word := binary.LittleEndian.Uint32(w[(at*spec.Dim/per+c/per)*4:])
	q := word >> (bits * (c % per)) & (1<<bits - 1)
	g := at*spec.Dim/spec.Group + c/spec.Group
	return bf(plane(sh.Scales), g)*float64(q) + bf(plane(sh.Biases), g)
}

func TestTableRows(t *testing.T) {
	for name, tc := range tables {
		t.Run(name, func(t *testing.T) {
			spec, _ := tc.Build()
			table, err := ple.OpenTable(spec)
			if err != nil {
				t.Fatal(err)
			}
			if table.Mapped() == tc.InFile {
				t.Errorf("mapped: got %v with InFile %v", table.Mapped(), tc.InFile)
			}
			raw, dst := make([]byte, table.RowBytes()), make([]float32, spec.Dim)
			for row := range spec.Rows {
				if err := table.Read(raw, row); err != nil {
					t.Fatal(err)
				}
				table.Dequant(dst, raw)
				for c, got := range dst {
					// One rounding: the f64 value is exact but for the sum.
					if want := float32(element(spec, row, c)); got != want {
						t.Fatalf("row %d value %d: got %v, want %v", row, c, got, want)
					}
				}
			}
			for _, row := range []int64{-1, spec.Rows, math.MaxInt64, math.MinInt64} {
				if err := table.Read(raw, row); !errors.Is(err, ple.ErrRead) {
					t.Errorf("row %d: got %v, want ErrRead", row, err)
				}
			}
		})
	}
}

// A record is the row's weight bytes, then its scales, then its biases.
func TestTableRecord(t *testing.T) {
	spec, _ := tables["q4"].Build()
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.RowBytes(); got != 32+4+4 {
		t.Fatalf("row bytes: got %d, want 40", got)
	}
	raw := make([]byte, 40)
	if err := table.Read(raw, 13); err != nil { // row 1 of shard 1
		t.Fatal(err)
	}
	sh := spec.Shards[1]
	if want := slices.Concat(sh.Weight.Data[32:64], sh.Scales.Data[4:8], sh.Biases.Data[4:8]); !slices.Equal(raw, want) {
		t.Errorf("record: got %v, want %v", raw, want)
	}
}

// All 65536 halves, against their definition.
func TestDequantHalf(t *testing.T) {
	data := make([]byte, 2<<16)
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(data[2*h:], uint16(h))
	}
	spec := ple.TableSpec{Rows: 1, Dim: 1 << 16, Format: metal.FormatF16, Shards: []ple.Shard{{Rows: 1, Weight: ple.Span{Data: data, Len: int64(len(data))}}}}
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, 1<<16)
	table.Dequant(dst, data)
	for h, got := range dst {
		if h>>10&31 == 31 {
			if inf := h&1023 == 0; inf != math.IsInf(float64(got), 0) || inf == math.IsNaN(float64(got)) {
				t.Fatalf("half %#x: got %v", h, got)
			}
			continue
		}
		if want := float32(element(spec, 0, h)); got != want || math.Signbit(float64(got)) != (h&0x8000 != 0) {
			t.Fatalf("half %#x: got %v, want %v", h, got, want)
		}
	}
}

func TestTableReadFaults(t *testing.T) {
	spec, file := tables["q4 file"].Build()
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, table.RowBytes())
	broken := errors.New("disk on fire")
	file.Fail = func(off int64, n int) error {
		if off >= spec.Shards[2].Scales.Off {
			return broken
		}
		return nil
	}
	err = table.Read(raw, 30)
	if !errors.Is(err, ple.ErrRead) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "row 30: scales") {
		t.Errorf("failed read: got %v, want ErrRead and the reader's error, naming row and plane", err)
	}
	if err := table.Read(raw, 3); err != nil {
		t.Errorf("row before the fault: got %v", err)
	}
	file.Fail, file.Short = nil, func(int64, int) bool { return true }
	if err := table.Read(raw, 3); !errors.Is(err, ple.ErrRead) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short read: got %v, want ErrRead and io.ErrUnexpectedEOF", err)
	}
	file.Short = nil
	file.Data = file.Data[:spec.Shards[4].Biases.Off+2] // the file was cut after it was opened
	if err := table.Read(raw, 59); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut file: got %v, want io.ErrUnexpectedEOF", err)
	}
	if _, err := ple.OpenTable(spec); !errors.Is(err, ple.ErrTable) {
		t.Errorf("open of a cut file: got %v, want ErrTable", err)
	}
}

// A row that ends at the file's end may come with io.EOF.
func TestTableLastRow(t *testing.T) {
	data := make([]byte, 12)
	r := &pletest.Reader{Data: data}
	table, err := ple.OpenTable(ple.TableSpec{Rows: 3, Dim: 1, Format: metal.FormatF32, Shards: []ple.Shard{{Rows: 3, Weight: ple.Span{File: eof{r}, Len: 12}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Read(make([]byte, 4), 2); err != nil {
		t.Error(err)
	}
}

type eof struct{ r io.ReaderAt }

func (e eof) ReadAt(p []byte, off int64) (int, error) {
	n, err := e.r.ReadAt(p, off)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

func TestTableSpecErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*ple.TableSpec)
		want   string
	}{
		"no shards":        {func(s *ple.TableSpec) { s.Shards = nil }, "shards"},
		"no rows":          {func(s *ple.TableSpec) { s.Rows = 0 }, "rows"},
		"rows do not part": {func(s *ple.TableSpec) { s.Rows = 61 }, "61 over 5"},
		"unequal shard":    {func(s *ple.TableSpec) { s.Shards[2].Rows++ }, "shard 2: got 13 rows, want 12"},
		"dim":              {func(s *ple.TableSpec) { s.Dim = 0 }, "dim: got 0"},
		"dim and words":    {func(s *ple.TableSpec) { s.Dim = 60; s.Group = 30 }, "multiple of 8"},
		"group":            {func(s *ple.TableSpec) { s.Group = 0 }, "group: got 0"},
		"group and dim":    {func(s *ple.TableSpec) { s.Group = 48 }, "divisor"},
		"format":           {func(s *ple.TableSpec) { s.Format = 99 }, "format: got 99"},
		"plain with group": {func(s *ple.TableSpec) { s.Format = metal.FormatBF16 }, "group"},
		"no scales":        {func(s *ple.TableSpec) { s.Shards[1].Scales = ple.Span{} }, "shard 1: scales: got 0 bytes, want 48"},
		"short weight":     {func(s *ple.TableSpec) { s.Shards[3].Weight.Len-- }, "shard 3: weight: got 383 bytes, want 384"},
		"lying length":     {func(s *ple.TableSpec) { s.Shards[3].Weight.Data = s.Shards[3].Weight.Data[1:] }, "383 bytes in memory"},
		"shared plane":     {func(s *ple.TableSpec) { s.Shards[1].Biases = s.Shards[1].Scales }, "overlap"},
		"no source":        {func(s *ple.TableSpec) { s.Shards[0].Weight.Data = nil }, "neither memory nor a file"},
		"superfluous": {func(s *ple.TableSpec) {
			s.Format, s.Group, s.Dim = metal.FormatBF16, 0, 16
		}, "scales: got a plane, want none"},
		"huge": {func(s *ple.TableSpec) {
			s.Rows = math.MaxInt64 / 5 * 5
			for i := range s.Shards {
				s.Shards[i].Rows = s.Rows / 5
			}
		}, "at most"},
	} {
		spec, _ := tables["q4"].Build()
		tc.change(&spec)
		_, err := ple.OpenTable(spec)
		if !errors.Is(err, ple.ErrTable) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want ErrTable with %q", name, err, tc.want)
		}
	}
	spec, file := tables["q4 file"].Build()
	spec.Shards[4].Biases.Off = spec.Shards[0].Weight.Off
	if _, err := ple.OpenTable(spec); !errors.Is(err, ple.ErrTable) || !strings.Contains(err.Error(), "overlap") ||
		!strings.Contains(err.Error(), "shard 0 weight") || !strings.Contains(err.Error(), "shard 4 biases") {
		t.Errorf("overlap in a file: got %v", err)
	}
	spec, _ = tables["q4 file"].Build()
	spec.Shards[0].Weight.Off = file.Size() - 1
	if _, err := ple.OpenTable(spec); !errors.Is(err, ple.ErrTable) {
		t.Errorf("span past the file's end: got %v", err)
	}
	spec, _ = tables["q4 file"].Build()
	spec.Shards[0].Weight.Off = math.MaxInt64 - 10
	if _, err := ple.OpenTable(spec); !errors.Is(err, ple.ErrTable) {
		t.Errorf("offset overflow: got %v", err)
	}
}

// Whatever a header claims, opening either fails with ErrTable or gives a table whose rows can all be asked for.
func FuzzOpenTable(f *testing.F) {
	f.Add(int64(60), 64, uint8(metal.FormatQ4), 32, int64(5), int64(6), int64(32*12), int64(7), int64(30))
	f.Add(int64(4), 2, uint8(metal.FormatBF16), 0, int64(1), int64(0), int64(16), int64(-1), int64(3))
	f.Add(int64(math.MaxInt64), 1, uint8(0), 0, int64(1), int64(math.MaxInt64), int64(-8), int64(0), int64(0))
	file := &pletest.Reader{Data: make([]byte, 1<<12)}
	f.Fuzz(func(t *testing.T, rows int64, dim int, format uint8, group int, shards, off, length, side, row int64) {
		if shards < 0 || shards > 64 {
			return
		}
		spec := ple.TableSpec{Rows: rows, Dim: dim, Format: metal.Format(format), Group: group}
		for i := range shards {
			sh := ple.Shard{Rows: rows / shards, Weight: ple.Span{File: file, Off: off + i*length, Len: length}}
			if side > 0 {
				sh.Scales = ple.Span{File: file, Off: off + 2048 + i*2*side, Len: side}
				sh.Biases = ple.Span{File: file, Off: off + 2048 + (i*2+1)*side, Len: side}
			}
			spec.Shards = append(spec.Shards, sh)
		}
		table, err := ple.OpenTable(spec)
		if err != nil {
			if !errors.Is(err, ple.ErrTable) {
				t.Fatalf("got %v, want ErrTable", err)
			}
			return
		}
		raw := make([]byte, table.RowBytes())
		for _, r := range []int64{0, rows - 1} {
			if err := table.Read(raw, r); err != nil {
				t.Fatalf("row %d of %d: %v", r, rows, err)
			}
			table.Dequant(make([]float32, dim), raw)
		}
		if err := table.Read(raw, row); (err == nil) != (row >= 0 && row < rows) {
			t.Fatalf("row %d of %d: got %v", row, rows, err)
		}
	})
}
