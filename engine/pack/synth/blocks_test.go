//go:build linux || darwin

package synth_test

import (
	"io/fs"
	"syscall"
)

// blocks is what a file takes on the disk.
func blocks(st fs.FileInfo) (int64, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Blocks * 512, true
}
