package prefix

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overwrite puts b where a file's bytes were, in the same file.
func overwrite(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// TestDiskHeals spoils the file while it is open, in every way that a hand on the folder can: loads are misses, the next save
// lands in a fresh file, which is told once, and what is saved from then on outlives the process.
func TestDiskHeals(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	f := m.filled(11)
	defer f.seq.Release()
	s := f.take(2000, 1, nil)
	defer s.Release()
	want := m.content(s)
	nonsense := []byte(strings.Repeat("nonsense", 100000))
	for name, hurt := range map[string]func(path string) error{
		"overwritten": func(path string) error { return overwrite(path, nonsense) },
		"emptied":     func(path string) error { return overwrite(path, nil) },
		"file and log": func(path string) error {
			return errors.Join(overwrite(path, nonsense), overwrite(path+"-wal", nonsense))
		},
		"index emptied":    func(path string) error { return overwrite(path+"-shm", nil) },
		"removed":          os.Remove,
		"folder removed":   func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"replaced by text": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nonsense, 0o600)) },
	} {
		for _, first := range []string{"load", "save"} {
			t.Run(name+", then "+first, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "cache")
				told := 0
				open := func() *Disk {
					d, err := OpenDisk(dir, DiskOptions{Pack: "pack", Device: m.dev.Info(), Shape: m.shape, Limit: 1 << 30, Rebuilt: func(path string, why error) {
						told++
						if path != filepath.Join(dir, diskFile) || why == nil {
							t.Errorf("told of %q: %v", path, why)
						}
					}})
					if err != nil {
						t.Fatal(err)
					}
					return d
				}
				d := open()
				for _, k := range []string{"a", "b", "c"} {
					m.save(d, key(k, 2000), s)
				}
				closed(t, d) // the log is in the file
				d = open()
				if err := hurt(d.path); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					if first == "load" || i > 0 {
						for _, k := range []string{"a", "b", "c", "d"} {
							if got, err := m.load(d, key(k, 2000), nil); err == nil {
								if !maps.Equal(m.content(got), want) {
									t.Error("other content")
								}
								got.Release()
							} else if !errors.Is(err, ErrNotStored) {
								t.Errorf("load: got %v, want %v", err, ErrNotStored)
							}
						}
					}
					for _, k := range []string{"d", "e"} {
						m.save(d, key(k, 2000), s)
					}
				}
				st := d.Stats()
				closed(t, d)
				d = open()
				defer closed(t, d)
				for _, k := range []string{"d", "e"} {
					got, err := m.load(d, key(k, 2000), nil)
					if err != nil {
						t.Errorf("%s, saved after the fault: %v", k, err)
						continue
					}
					if !maps.Equal(m.content(got), want) {
						t.Error("other content")
					}
					got.Release()
				}
				if st.Rebuilt != 1 || told != 1 {
					t.Errorf("got %+v, told %d times, want begun anew once", st, told)
				}
			})
		}
	}
}
