package ple

import (
	"fmt"
	"time"
)

// watched is a file that rows are read from, as it was when the table was opened.
type watched struct {
	last    Span      // its plane that ends last
	changed time.Time // when it was written last; zero if it does not tell
}

// watch adds the file of a plane to the list, if it has one that tells anything of itself.
func watch(list []watched, p Span) []watched {
	info, size, err := p.stat()
	if err != nil || size < 0 {
		return list
	}
	for i := range list {
		if e := &list[i].last; e.File == p.File {
			if p.Off+p.Len > e.Off+e.Len {
				*e = p
			}
			return list
		}
	}
	w := watched{last: p}
	if info != nil {
		w.changed = info.ModTime()
	}
	return append(list, w)
}

// intact checks that the files are what they were. To be called after rows were copied and before they are used: a file that was cut and
// grown again reads as zeros, and so does the rest of a page behind a mapped file's end, without any error. A file that was written to is not
// read from again, whatever it holds now, unless it is put back with its time of change.
func (t *Table) intact() error {
	for i := range t.watch {
		w := &t.watch[i]
		info, size, err := w.last.stat()
		switch {
		case err != nil:
		case w.last.Off+w.last.Len > size:
			err = fmt.Errorf("got %d bytes, want at least %d: it was cut short", size, w.last.Off+w.last.Len)
		case info != nil && !info.ModTime().Equal(w.changed):
			err = fmt.Errorf("it was changed at %s, and was of %s when the pack was opened", info.ModTime().Format(time.RFC3339Nano), w.changed.Format(time.RFC3339Nano))
		}
		if err != nil {
			return t.failed(-1, fmt.Errorf("file %s: %w", fileName(w.last.File), err))
		}
	}
	return nil
}
