package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

//go:embed assets
var embedded embed.FS

// page is the one asset that is not served under Prefix.
const page = "index.html"

// baseMark stands in the page where the address of the assets belongs.
const baseMark = "{{assets}}"

// Files are the assets as they lie in the source tree: index.html, style.css, js/, vendor/.
func Files() fs.FS {
	sub, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic("web: " + err.Error()) // the name is a constant that is embedded above
	}
	return sub
}

// types are the content types of the assets. The table is closed: an asset of another kind is a mistake found by tests.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/plain; charset=utf-8",
}

// asset is one file, ready to be sent.
type asset struct {
	kind   string // content type
	tag    string // ETag, quoted
	plain  []byte
	zipped []byte // gzip of plain, nil when that saves nothing
}

// bundle is every file, and the hash that names this very set of them.
type bundle struct {
	hash   string
	assets map[string]asset // by path below assets
}

// load reads every file of the tree. The page's base mark is replaced by prefix + hash.
func load(tree fs.FS, prefix string) (*bundle, error) {
	b := &bundle{assets: map[string]asset{}}
	raw := map[string][]byte{}
	sum := sha256.New()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		raw[name] = data
		fmt.Fprintf(sum, "%s %d\n", name, len(data)) // WalkDir is in lexical order: the hash is the tree's own
		sum.Write(data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web: assets: %w", err)
	}
	b.hash = hex.EncodeToString(sum.Sum(nil))[:16]
	for name, data := range raw {
		kind, ok := types[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("web: asset %s: no content type for %q", name, path.Ext(name))
		}
		if name == page {
			data = bytes.ReplaceAll(data, []byte(baseMark), []byte(prefix+b.hash))
		}
		b.assets[name] = asset{kind: kind, tag: tagOf(data), plain: data, zipped: zip(data)}
	}
	if _, ok := b.assets[page]; !ok {
		return nil, fmt.Errorf("web: assets: no %s", page)
	}
	return b, nil
}

func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// zip compresses once, so that serving costs nothing; nil when a tenth or less is saved.
func zip(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("web: gzip into memory: " + err.Error())
	}
	if out.Len() > len(data)*9/10 {
		return nil
	}
	return out.Bytes()
}
