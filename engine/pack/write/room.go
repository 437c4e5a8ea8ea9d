//go:build linux || darwin

package write

import (
	"fmt"
	"math"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Room refuses what will not fit: out's file system must have so many bytes free. A system that does not tell is taken to
// have them; the disk may still fill up meanwhile, and then a write fails.
func Room(out string, bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(filepath.Clean(out)), &st); err != nil {
		return nil // creating the folder will say what is wrong
	}
	free := float64(st.Bavail) * float64(st.Bsize)
	if float64(bytes) > free {
		return fmt.Errorf("%s: want %d bytes, but the disk has %.0f free: %w", out, bytes, math.Floor(free), unix.ENOSPC)
	}
	return nil
}
