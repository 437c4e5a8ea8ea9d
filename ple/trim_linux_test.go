package ple

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"golang.org/x/sys/unix"
)

// TestTrim: a mapped table that is read through and through leaves no more of its files in the process than it may, and
// its rows read as they are.
func TestTrim(t *testing.T) {
	const rows, dim = 3 << 18, 64 // 96 MiB
	path := filepath.Join(t.TempDir(), "table")
	data := make([]byte, rows*dim*2)
	for i := range rows {
		data[i*dim*2] = byte(i)
		data[i*dim*2+1] = byte(i >> 8)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(m) }()
	table, err := OpenTable(TableSpec{Name: "t", Rows: rows, Dim: dim, Format: metal.FormatBF16, Placement: Mmap,
		Shards: []Shard{{Rows: rows, Weight: Span{Data: m, File: f, Len: int64(len(m)), Mapping: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	table.most = 4 << 20
	most, row := int64(0), make([]byte, table.RowBytes())
	for i := range int64(8000) {
		id := i * 104729 % rows
		if err := table.Read(row, id); err != nil {
			t.Fatal(err)
		}
		if row[0] != byte(id) || row[1] != byte(id>>8) {
			t.Fatalf("row %d: got %d %d, want its number", id, row[0], row[1])
		}
		if i%trimRows == trimRows/2 {
			most = max(most, filePages()-table.before)
		}
	}
	// Between two looks each row may bring in what lies around it.
	if limit := table.most + trimRows*folioMost; most > limit || most < table.most {
		t.Errorf("got at most %d bytes of the file in the process, want %d to %d", most, table.most, limit)
	}
}
