package ple

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// ReadError is a row that a table's file did not give. It wraps ErrRead and what the system said.
type ReadError struct {
	Table string // its name in the pack
	Files string // names of its files, without folders
	Row   int64  // -1: no certain one
	Err   error
}

// Error implements error.
func (e *ReadError) Error() string {
	at := ""
	if e.Files != "" {
		at = " (" + e.Files + ")"
	}
	if e.Row >= 0 {
		at += fmt.Sprintf(": row %d", e.Row)
	}
	return fmt.Sprintf("%v: %s%s: %v", ErrRead, e.Table, at, e.Err)
}

// Unwrap tells what it wraps.
func (e *ReadError) Unwrap() []error { return []error{ErrRead, e.Err} }

// failed is a ReadError of this table.
func (t *Table) failed(row int64, err error) error {
	return &ReadError{Table: t.spec.Name, Files: t.files(), Row: row, Err: err}
}

// files names the table's files, where they have names.
func (t *Table) files() string {
	var names []string
	seen := map[string]bool{}
	for i := range t.spec.Shards {
		for _, p := range t.spec.Shards[i].planes() {
			if name := fileName(p.File); name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// fileName is a file's name without its folder, or "".
func fileName(f io.ReaderAt) string {
	if f == nil {
		return ""
	}
	if n, ok := under(f).(interface{ Name() string }); ok {
		return filepath.Base(n.Name())
	}
	return ""
}
