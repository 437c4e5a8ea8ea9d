package write

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
)

// list is two tensors of 8 and 12 bytes.
var list = []Tensor{{"a", pack.BF16, []int64{2, 2}}, {"b", pack.U32, []int64{3}}}

// fill writes both, b first and in pieces.
func fill(f *File) error {
	b, a := f.Plane("b"), f.Plane("a")
	for _, part := range []string{"bbbbb", "bbbbbbb"} {
		if _, err := b.Write([]byte(part)); err != nil {
			return err
		}
	}
	if _, err := a.Write([]byte("aaaaaaaa")); err != nil {
		return err
	}
	return errors.Join(a.Close(), b.Close())
}

// build makes a folder as a user of the package does.
func build(f *Folder) error {
	file, err := f.File("model.safetensors", []Pair{{"format", "mlx"}}, list)
	if err != nil {
		return err
	}
	if err := fill(file); err != nil {
		return err
	}
	if err := f.Text("config.json", []byte("{}")); err != nil {
		return err
	}
	if err := f.Text("note.txt", []byte("hello")); err != nil {
		return err
	}
	return f.Finish(manifest.Manifest{Made: "a test"})
}

func TestFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	f, err := Create(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := build(f); err != nil {
		t.Fatal(err)
	}
	const head = `{"__metadata__": {"format": "mlx"}, "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}, ` +
		`"b": {"dtype": "U32", "shape": [3], "data_offsets": [8, 20]}}`
	pad := strings.Repeat(" ", (8-len(head)%8)%8)
	want := string([]byte{byte(len(head) + len(pad)), 0, 0, 0, 0, 0, 0, 0}) + head + pad + "aaaaaaaabbbbbbbbbbbb"
	got, err := os.ReadFile(filepath.Join(out, "model.safetensors"))
	if err != nil || string(got) != want {
		t.Errorf("file: got %q %v\nwant %q", got, err, want)
	}
	text, err := os.ReadFile(filepath.Join(out, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	file := m.Files["model.safetensors"]
	if file.Bytes != int64(len(want)) || file.Header != sum(want[:len(want)-20]) || file.Tensors["a"] != sum("aaaaaaaa") || file.Tensors["b"] != sum("bbbbbbbbbbbb") {
		t.Errorf("manifest: got %+v", file)
	}
	if m.Files["config.json"].SHA256 != sum("{}") || m.Files["note.txt"].SHA256 != sum("hello") || m.Made != "a test" || len(m.Files) != 3 {
		t.Errorf("manifest: got %+v", m)
	}
	if _, err := os.Stat(out + ".partial"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("partial folder: got %v, want it gone", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"folder":         func(p string) error { return os.Mkdir(p, 0o777) },
		"file":           func(p string) error { return os.WriteFile(p, nil, 0o666) },
		"dangling link":  func(p string) error { return os.Symlink("nowhere", p) },
		"partial folder": func(p string) error { return os.Mkdir(p+".partial", 0o777) },
	} {
		out := filepath.Join(dir, name)
		if err := make(out); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(out); err == nil || !strings.Contains(err.Error(), out) {
			t.Errorf("%s: got %v, want a refusal that names it", name, err)
		}
	}
	if _, err := Create(filepath.Join(dir, "no", "such", "folder")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no parent: got %v", err)
	}
}

// Planes that are not filled to the byte, or never ended, keep the folder from its name.
func TestPlanesMustBeFull(t *testing.T) {
	for name, c := range map[string]struct {
		write func(f *File) error
		want  string
	}{
		"short": {func(f *File) error {
			_, err := f.Plane("a").Write([]byte("aaa"))
			return errors.Join(err, f.Plane("a").Close())
		}, `tensor "a": got 5 bytes less than its 8`},
		"long": {func(f *File) error { _, err := f.Plane("a").Write([]byte("aaaaaaaaa")); return err }, `tensor "a": got 1 bytes more than its 8`},
		"not done": {func(f *File) error {
			_, err := f.Plane("b").Write(make([]byte, 12))
			return errors.Join(err, f.Plane("b").Close())
		}, `tensor "a": was never finished`},
	} {
		out := filepath.Join(t.TempDir(), "out")
		f, err := Create(out)
		if err != nil {
			t.Fatal(err)
		}
		file, err := f.File("m.safetensors", nil, list)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.write(file); err == nil {
			err = errors.Join(f.Text("config.json", []byte("{}")), f.Finish(manifest.Manifest{}))
		}
		if err == nil || !strings.Contains(err.Error(), "m.safetensors") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		gone(t, f, out)
	}
}

// gone abandons a folder and checks that nothing is left.
func gone(t *testing.T, f *Folder, out string) {
	t.Helper()
	if err := f.Abandon(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: got %v %v, want nothing", left, err)
	}
}

// disk fails at the n-th operation of the kind.
type disk struct {
	Handle
	name string
	fail func(op, file string) error
}

func (d disk) WriteAt(p []byte, off int64) (int, error) {
	if err := d.fail("write", d.name); err != nil {
		n, _ := d.Handle.WriteAt(p[:len(p)/2], off) // a full disk takes a part
		return n, err
	}
	return d.Handle.WriteAt(p, off)
}

func (d disk) Truncate(n int64) error {
	if err := d.fail("truncate", d.name); err != nil {
		return err
	}
	return d.Handle.Truncate(n)
}

func (d disk) Sync() error {
	if err := d.fail("sync", d.name); err != nil {
		return err
	}
	return d.Handle.Sync()
}

func (d disk) Close() error { return errors.Join(d.Handle.Close(), d.fail("close", d.name)) }

// A disk that fails at any operation at all gives an error that says so and names the file; there is never a folder of the
// name, and what is there meanwhile is no pack until the last file is written.
func TestDiskFails(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "disk", Err: syscall.ENOSPC}
	for at := 0; ; at++ {
		count, last := 0, ""
		fail := func(op, file string) error {
			if count++; count-1 == at {
				last = op + " " + file
				return full
			}
			return nil
		}
		out := filepath.Join(t.TempDir(), "out")
		f, err := create(out, func(path string) (Handle, error) {
			if err := fail("open", filepath.Base(path)); err != nil {
				return nil, err
			}
			h, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			return disk{h, filepath.Base(path), fail}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = build(f)
		if last == "" { // nothing was left to fail
			if err != nil || at < 15 {
				t.Errorf("without a failure: got %v after %d operations", err, at)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v, want a full disk", last, err)
		}
		if op, file, _ := strings.Cut(last, " "); op != "open" && !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want it to name the file", last, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a folder of the name (%v)", last, err)
		}
		if _, err := os.Stat(filepath.Join(out+".partial", "config.json")); err == nil && !strings.HasSuffix(last, "config.json") {
			t.Errorf("%s: the partial folder has its config.json already", last)
		}
		gone(t, f, out)
	}
}

func TestShards(t *testing.T) {
	var tensors []Tensor
	for _, n := range []int64{10, 30, 70, 5, 5, 200, 1} {
		tensors = append(tensors, Tensor{string(rune('a' + len(tensors))), "U8", []int64{n}})
	}
	for _, c := range []struct {
		limit int64
		want  string
	}{
		{0, "abcdefg"}, {1 << 40, "abcdefg"}, {100, "ab cde f g"}, {40, "ab c de f g"}, {1, "a b c d e f g"},
	} {
		var got []string
		shards := Shards("model", tensors, c.limit)
		for _, s := range shards {
			names := ""
			for _, x := range s.Tensors {
				names += x.Name
			}
			got = append(got, names)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("limit %d: got %s, want %s", c.limit, text, c.want)
		}
		if n := shards[len(shards)-1].Name; len(shards) == 1 && n != "model.safetensors" || len(shards) == 4 && n != "model-00004-of-00004.safetensors" {
			t.Errorf("limit %d: last file: got %s", c.limit, n)
		}
	}
	text, err := Index(Shards("model", tensors, 100))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Metadata struct {
			Size int64 `json:"total_size"`
		}
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil || index.Metadata.Size != 321 || index.Map["c"] != "model-00002-of-00004.safetensors" || len(index.Map) != 7 {
		t.Errorf("index: got %+v %v", index, err)
	}
}

// Names that JSON has to quote stay what they are.
func TestHeaderQuotes(t *testing.T) {
	h := header(nil, []Tensor{{"a\"\n\\é", pack.BF16, []int64{0}}})
	var m map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(h[8:]), &m); err != nil || m["a\"\n\\é"] == nil || len(h)%8 != 0 {
		t.Errorf("got %q: %v", h, err)
	}
}

func TestRoom(t *testing.T) {
	if err := Room(filepath.Join(t.TempDir(), "x"), 1); err != nil {
		t.Errorf("a byte: got %v", err)
	}
	if err := Room(filepath.Join(t.TempDir(), "x"), 1<<60); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("2^60 bytes: got %v, want no room", err)
	}
}
