package pack

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"unsafe"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"config.json": "{}", "model.safetensors": "some bytes", "empty.safetensors": ""}
	mapfs := fstest.MapFS{}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		mapfs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	onDisk, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := onDisk.Name(), filepath.Base(dir); got != want {
		t.Errorf("name: got %q, want %q", got, want)
	}
	for kind, src := range map[string]Source{"dir": onDisk, "files": Files("x", files), "fs": FS("x", mapfs)} {
		for name, text := range files {
			b, err := src.Open(name)
			if err != nil || !bytes.Equal(b.Data, []byte(text)) {
				t.Errorf("%s: %s: got %v, want %q", kind, name, err, text)
			}
		}
		if _, err := src.Open("absent.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: absent file: got %v, want fs.ErrNotExist", kind, err)
		}
		for _, name := range []string{"../" + filepath.Base(dir) + "/config.json", "sub/x", "", "..", "/etc/passwd", `a\b`, "c:x", "sub"} {
			if _, err := src.Open(name); err == nil {
				t.Errorf("%s: Open(%q): got no error", kind, name)
			}
		}
		if err := src.Close(); err != nil {
			t.Errorf("%s: close: %v", kind, err)
		}
	}
	if _, err := Dir(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrMissing) {
		t.Errorf("absent folder: got %v, want ErrMissing", err)
	}
	if _, err := Dir(filepath.Join(dir, "config.json")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("file as folder: got %v, want ErrCorrupt", err)
	}
}

// An embedded pack is used in place: the blob's bytes are the string's.
func TestFilesInPlace(t *testing.T) {
	text := string([]byte{1, 2, 3, 4})
	b, err := Files("x", map[string]string{"w": text}).Open("w")
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.SliceData(b.Data) != unsafe.StringData(text) {
		t.Error("got a copy, want the string's own bytes")
	}
}
