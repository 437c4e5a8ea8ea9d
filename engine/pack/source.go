package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// maxTextFile bounds files that are read whole (config, tokenizer, template): the largest tokenizers are some 20 MB.
const maxTextFile = 256 << 20

// Source is where a pack's files come from. Names are plain file names, without folders.
type Source interface {
	// Name is how errors, logs and the model id call the pack (a folder's last element).
	Name() string
	// Open returns a file's bytes; the error wraps fs.ErrNotExist if there is no such file.
	Open(name string) (*Blob, error)
	// Close gives back every blob opened so far; their bytes must not be used afterwards.
	Close() error
}

// Lister is a Source that can tell the names of its files.
type Lister interface {
	Names() ([]string, error)
}

// Blob is one file of a pack. Data is read-only: it may be a mapping or part of the program text, and writing to it crashes.
type Blob struct {
	Data []byte
	Path string      // where it lies, "" when embedded
	File io.ReaderAt // the open file behind a mapping, nil when embedded: positional reads report I/O errors as errors
	// Mapped says that Data is a file mapping: a file that shrinks below a running process faults on access.
	Mapped bool
}

// Dir is the pack in a folder. Safetensors files are mapped, so nothing of them is read before it is used; text files are
// read whole. Symbolic links are followed (download caches are made of them).
func Dir(path string) (Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", path, err)
	}
	st, err := os.Stat(abs)
	if err != nil {
		return nil, &fault{kind: ErrMissing, under: err, text: fmt.Sprintf("pack %s: no such folder: %v", path, err)}
	}
	if !st.IsDir() {
		return nil, corrupt("pack %s: is a file, want a folder with config.json and safetensors", path)
	}
	return &dir{path: abs}, nil
}

type dir struct {
	path string

	mu      sync.Mutex
	closers []func() error
}

func (d *dir) Name() string { return filepath.Base(d.path) }

func (d *dir) Open(name string) (*Blob, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	// Stat first: opening a named pipe would wait for a writer.
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, corrupt("%s: not a regular file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".safetensors") {
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxTextFile+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(data) > maxTextFile {
			return nil, corrupt("%s: got more than %d bytes, the limit of a text file", name, maxTextFile)
		}
		return &Blob{Data: data, Path: path}, nil
	}
	data, mapped, unmap, err := mapFile(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.mu.Lock()
	d.closers = append(d.closers, func() error { return errors.Join(unmap(), f.Close()) })
	d.mu.Unlock()
	return &Blob{Data: data, Path: path, File: f, Mapped: mapped}, nil
}

// Names implements Lister.
func (d *dir) Names() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (d *dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c())
	}
	d.closers = nil
	return errors.Join(errs...)
}

// FS is the pack in the root of a file system. Each file is copied into memory when it is opened; use [Files] for an
// embedded pack of any size.
func FS(name string, fsys fs.FS) Source { return &fsSource{name, fsys} }

type fsSource struct {
	name string
	fsys fs.FS
}

func (s *fsSource) Name() string { return s.name }

func (s *fsSource) Open(name string) (*Blob, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(s.fsys, name)
	if err != nil {
		return nil, err
	}
	return &Blob{Data: data}, nil
}

func (s *fsSource) Close() error { return nil }

// Files is a pack whose files are strings, as go:embed gives them: their bytes are used in place, nothing is copied.
func Files(name string, files map[string]string) Source { return &fileSource{name, files} }

type fileSource struct {
	name  string
	files map[string]string
}

func (s *fileSource) Name() string { return s.name }

func (s *fileSource) Open(name string) (*Blob, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	text, ok := s.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &Blob{Data: unsafe.Slice(unsafe.StringData(text), len(text))}, nil
}

// Names implements Lister.
func (s *fileSource) Names() ([]string, error) { return slices.Collect(maps.Keys(s.files)), nil }

func (s *fileSource) Close() error { return nil }

// plainName refuses a file name that could lead out of the pack's folder.
func plainName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\:\x00") || !filepath.IsLocal(name) {
		return corrupt("file name %q: want a plain file name inside the pack's folder", name)
	}
	return nil
}
