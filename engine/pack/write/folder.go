package write

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/flashlane/flashlane/engine/pack/manifest"
)

// last are the files that make a folder a pack; they are written when everything else is there.
const config = "config.json"

// Handle is an open file as the folder writes it.
type Handle interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Folder is a pack under construction. File, Text and the planes of its files may be used by several goroutines.
type Folder struct {
	out, partial string
	open         func(path string) (Handle, error)

	mu     sync.Mutex
	files  []*File
	texts  map[string]manifest.File
	config []byte
}

// Create makes OUT.partial. It refuses an OUT that exists, and an OUT.partial: another run may be at it, or left it.
func Create(out string) (*Folder, error) {
	return create(out, func(path string) (Handle, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	})
}

func create(out string, open func(string) (Handle, error)) (*Folder, error) {
	out = filepath.Clean(out)
	f := &Folder{out: out, partial: out + ".partial", open: open, texts: map[string]manifest.File{}}
	if _, err := os.Lstat(out); err == nil {
		return nil, fmt.Errorf("%s: there is something of that name already; packs are never written over", out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.Mkdir(f.partial, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s: left by a run that was ended, or one is still writing: remove it if none is", f.partial)
		}
		return nil, err
	}
	return f, nil
}

// File makes a safetensors file of its full length and writes its header. The data is for the planes.
func (f *Folder) File(name string, metadata []Pair, tensors []Tensor) (*File, error) {
	head := header(metadata, tensors)
	h, err := f.open(filepath.Join(f.partial, name))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(head)
	file := &File{name: name, h: h, header: hex.EncodeToString(sum[:]), planes: make(map[string]*Plane, len(tensors))}
	f.mu.Lock()
	f.files = append(f.files, file)
	f.mu.Unlock()
	at := int64(len(head))
	for _, t := range tensors {
		file.planes[t.Name] = &Plane{file: file, tensor: t, at: at, end: at + t.Bytes(), sum: sha256.New()}
		at += t.Bytes()
	}
	file.size = at
	if _, err := h.WriteAt(head, 0); err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	if err := h.Truncate(at); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// Text writes a text file. config.json is held back until Finish.
func (f *Folder) Text(name string, data []byte) error {
	sum := sha256.Sum256(data)
	f.mu.Lock()
	f.texts[name] = manifest.File{Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	if name == config {
		f.config = data
	}
	f.mu.Unlock()
	if name == config {
		return nil
	}
	return f.write(name, data)
}

func (f *Folder) write(name string, data []byte) error {
	h, err := f.open(filepath.Join(f.partial, name))
	if err != nil {
		return err
	}
	_, err = h.WriteAt(data, 0)
	if err == nil {
		err = h.Sync()
	}
	if err := errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Finish checks that every plane was filled, writes the manifest and config.json, and gives the folder its name. m says
// who made the pack; its Files are filled in here.
func (f *Folder) Finish(m manifest.Manifest) error {
	m.Version, m.Files = manifest.Version, f.texts
	for _, file := range f.files {
		entry, err := file.finish()
		if err != nil {
			return err
		}
		m.Files[file.name] = entry
	}
	f.files = nil
	text, err := m.Encode()
	if err != nil {
		return err
	}
	if err := f.write(manifest.Name, text); err != nil {
		return err
	}
	if f.config == nil {
		return fmt.Errorf("%s: a pack without %s", f.out, config)
	}
	if err := f.write(config, f.config); err != nil {
		return err
	}
	// Rename replaces an empty folder that somebody made meanwhile, and fails on any other.
	if err := os.Rename(f.partial, f.out); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.out))
}

// Abandon closes what is open and removes OUT.partial.
func (f *Folder) Abandon() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.files {
		_ = file.h.Close() // the file goes away
	}
	f.files = nil
	return os.RemoveAll(f.partial)
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
