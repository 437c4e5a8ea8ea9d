//go:build unix

package ple_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// mapped maps a file until the test ends.
func mapped(t testing.TB, f *os.File, size int64) []byte {
	t.Helper()
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(data); err != nil {
			t.Error(err)
		}
	})
	return data
}
