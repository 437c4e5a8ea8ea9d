//go:build !nopack

package nano

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
)

// The embedded files are those of the folder, none is left out, and they open as a pack.
func TestFiles(t *testing.T) {
	files, ok := Files()
	if !ok {
		t.Fatal("got no files in a build without nopack")
	}
	entries, err := os.ReadDir("pack")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) {
		t.Errorf("got %d embedded files, want the %d of the folder", len(files), len(entries))
	}
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join("pack", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if files[e.Name()] != string(want) {
			t.Errorf("%s: embedded bytes differ from the file's", e.Name())
		}
	}
	p, err := pack.Open(pack.Files("nano", files))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	if ok, why := p.HasMTP(); !ok {
		t.Errorf("head: %s", why)
	}
	if p.Name != "nano" || len(files["LICENSE-GO.txt"]) == 0 {
		t.Errorf("got name %q and a licence of %d bytes", p.Name, len(files["LICENSE-GO.txt"]))
	}
}

// Opening the embedded pack copies none of its 42 MB.
func BenchmarkOpen(b *testing.B) {
	files, _ := Files()
	b.ReportAllocs()
	for b.Loop() {
		p, err := pack.Open(pack.Files("nano", files))
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
