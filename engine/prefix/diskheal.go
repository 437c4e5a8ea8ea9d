package prefix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// unreadable reports whether a file's content is to blame.
func unreadable(err error) bool {
	if errors.Is(err, errVersion) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB, sqlitelib.SQLITE_FORMAT:
		return true
	}
	switch e.Code() {
	case sqlitelib.SQLITE_IOERR_SHORT_READ, sqlitelib.SQLITE_IOERR_IN_PAGE: // cut, the second one under a mapping
		return true
	}
	return strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "no such column") // tables that are not ours
}

// errMoved marks a file that is no longer where it was opened.
var errMoved = errors.New("prefix: file was removed or replaced")

// moved reports a file that was taken away: what goes into it would be gone with the process.
func (d *Disk) moved() error {
	if now, err := os.Stat(d.path); errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, d.file) {
		return errMoved
	}
	return nil
}

// spoiled reports whether an open file is of no more use: somebody wrote over it, cut it or took it away.
func (d *Disk) spoiled(err error) bool {
	var e *sqlite.Error
	return unreadable(err) || errors.As(err, &e) && d.moved() != nil
}

// lose forgets everything that a spoiled file had, so that nobody looks there again, and notes why; heal does the rest. d.mu is
// held.
func (d *Disk) lose(why error) {
	if d.broken == nil {
		d.broken = why
	}
	for _, s := range d.all {
		if s.node != nil { // of this model
			d.stats.Corrupt++
		}
	}
	d.clear()
}

// heal begins the file anew if it is spoiled. When that fails, the next save tries again. d.saving is held.
func (d *Disk) heal() error {
	moved := d.moved()
	d.mu.Lock()
	if moved != nil {
		d.lose(moved)
	}
	why := d.broken
	d.mu.Unlock()
	if why == nil {
		return nil
	}
	d.loading.Lock()
	defer d.loading.Unlock()
	// The old file is closed first: the last connection of a file removes the log that has its name. What closing says of a
	// spoiled file is known.
	_ = d.db.Close()
	if err := d.restart(why); err != nil {
		return fmt.Errorf("prefix: disk cache %s: begin anew: %w", filepath.Dir(d.path), err)
	}
	return nil
}

// restart removes the file, opens a fresh one and tells so.
func (d *Disk) restart(why error) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if e := os.Remove(d.path + suffix); e != nil && !errors.Is(e, os.ErrNotExist) {
			return fmt.Errorf("%w; it cannot be removed either: %w", why, e)
		}
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	d.mu.Lock()
	d.broken = nil
	d.stats.Rebuilt++
	d.mu.Unlock()
	if d.o.Rebuilt != nil {
		d.o.Rebuilt(d.path, why)
	}
	return nil
}
