//go:build linux

package ple

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/flashlane/flashlane/metal/host"
)

// Evict drops the table's pages from the system's page cache, so that the next reads are cold: for measurement only. It
// fails if rows lie in no file.
func (t *Table) Evict() error {
	if t.Placement() == Memory {
		return fmt.Errorf("ple: table %s is in memory: there are no pages to drop: %w", t.spec.Name, errors.ErrUnsupported)
	}
	for i := range t.spec.Shards {
		for _, p := range t.spec.Shards[i].planes() {
			if p.empty() {
				continue
			}
			if b := host.WholePages(p.Data); p.Mapping && len(b) > 0 { // pages in use by a mapping are not dropped
				if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
					return fmt.Errorf("ple: table %s: madvise: %w", t.spec.Name, err)
				}
			}
			f, ok := under(p.File).(*os.File)
			if !ok {
				return fmt.Errorf("ple: table %s: its file is not the system's: %w", t.spec.Name, errors.ErrUnsupported)
			}
			if err := unix.Fadvise(int(f.Fd()), p.Off, p.Len, unix.FADV_DONTNEED); err != nil {
				return fmt.Errorf("ple: table %s: fadvise: %w", t.spec.Name, err)
			}
		}
	}
	return nil
}
