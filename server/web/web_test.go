package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// source is a file of the tree.
func source(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names lists the files of the tree that end with one of the suffixes.
func names(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		for _, s := range suffixes {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, s) {
				out = append(out, name)
			}
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("files with %v: got %v, error %v", suffixes, out, err)
	}
	return out
}

func TestPageAndEverythingItNames(t *testing.T) {
	r := get(t, "GET", "/")
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || r.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("GET /: got %d with %v", r.StatusCode, r.Header)
	}
	html := text(t, r.Body)
	if strings.Contains(html, baseMark) {
		t.Errorf("the page still has %s", baseMark)
	}
	refs := regexp.MustCompile(`(?:src|href)="(/[^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(refs) < 5 {
		t.Fatalf("found %d references in the page, want at least 5", len(refs))
	}
	for _, ref := range refs {
		r := get(t, "GET", ref[1])
		if r.StatusCode != 200 || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("GET %s: got %d with Cache-Control %q, want 200 and immutable", ref[1], r.StatusCode, r.Header.Get("Cache-Control"))
		}
		if want := types[path.Ext(ref[1])]; r.Header.Get("Content-Type") != want {
			t.Errorf("GET %s: got type %q, want %q", ref[1], r.Header.Get("Content-Type"), want)
		}
	}
}

func TestAnswersByPathAndMethod(t *testing.T) {
	base := Prefix + loaded().hash + "/"
	for name, c := range map[string]struct {
		method, path string
		want         int
	}{
		"module":          {"GET", base + "js/app.js", 200},
		"head":            {"HEAD", base + "style.css", 200},
		"other hash":      {"GET", Prefix + "0123456789abcdef/js/app.js", 404},
		"page as asset":   {"GET", base + "index.html", 404},
		"folder":          {"GET", base + "js/", 404},
		"no such file":    {"GET", base + "js/nothing.js", 404},
		"upwards":         {"GET", base + "../web.go", 404},
		"other path":      {"GET", "/v1/models", 404},
		"post":            {"POST", "/", 405},
		"delete an asset": {"DELETE", base + "style.css", 405},
	} {
		t.Run(name, func(t *testing.T) {
			r := get(t, c.method, c.path)
			if r.StatusCode != c.want {
				t.Errorf("%s %s: got %d, want %d", c.method, c.path, r.StatusCode, c.want)
			}
			if r.Header.Get("Content-Security-Policy") != Policy || r.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: got headers %v without the policy", c.method, c.path, r.Header)
			}
			if body := text(t, r.Body); c.method == "HEAD" && body != "" {
				t.Errorf("HEAD has a body of %d bytes", len(body))
			}
			if c.want == 405 && r.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("got Allow %q", r.Header.Get("Allow"))
			}
		})
	}
}

func TestRevalidatesByContent(t *testing.T) {
	tag := get(t, "GET", "/").Header.Get("ETag")
	for header, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		if got := get(t, "GET", "/", "If-None-Match", header).StatusCode; got != want {
			t.Errorf("If-None-Match %s: got %d, want %d", header, got, want)
		}
	}
}

func TestCompresses(t *testing.T) {
	for accept, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "br": "", "": ""} {
		r := get(t, "GET", "/", "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
		}
	}
	r := get(t, "GET", "/", "Accept-Encoding", "gzip")
	zr, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, zr), text(t, get(t, "GET", "/").Body); got != want {
		t.Errorf("unzipped page differs from the plain one")
	}
}

func TestHashFollowsContent(t *testing.T) {
	a := fstest.MapFS{"index.html": {Data: []byte("<p>{{assets}}")}, "a.css": {Data: []byte("a{}")}}
	one, err := load(a, "/x/")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(one.assets["index.html"].plain), "<p>/x/"+one.hash; got != want {
		t.Errorf("page: got %q, want %q", got, want)
	}
	a["a.css"].Data = []byte("b{}")
	two, err := load(a, "/x/")
	if err != nil {
		t.Fatal(err)
	}
	if one.hash == two.hash || one.assets["index.html"].tag == two.assets["index.html"].tag {
		t.Errorf("a changed style sheet left the hash %s or the page's tag as they were", one.hash)
	}
	for name, bad := range map[string]fstest.MapFS{"no page": {"a.css": a["a.css"]}, "unknown type": {"index.html": a["index.html"], "a.exe": {}}} {
		if _, err := load(bad, "/x/"); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// TestPolicyIsKept: what the policy forbids is not in the sources either, so that nothing fails in the browser only.
func TestPolicyIsKept(t *testing.T) {
	for _, must := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(Policy, must) {
			t.Errorf("the policy lacks %q", must)
		}
	}
	if strings.Contains(Policy, "unsafe") || strings.Contains(Policy, "*") || strings.Contains(Policy, "http") {
		t.Errorf("the policy is loose: %s", Policy)
	}
	html := source(t, page)
	for _, bad := range []string{`<script>`, `<style`, ` style=`, ` onclick=`, ` onload=`, `javascript:`, `http://`, `https://`} {
		if strings.Contains(strings.ToLower(html), bad) {
			t.Errorf("index.html has %q", bad)
		}
	}
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|createContextualFragment|srcdoc|setAttribute\('(?:on|style)`)
	for _, name := range names(t, ".js") {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		if m := unsafe.FindString(source(t, name)); m != "" {
			t.Errorf("%s has %q: text goes in by textContent only", name, m)
		}
	}
	if css := source(t, "style.css"); strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("style.css loads something")
	}
}

// TestScriptsFit: modules import files that exist, and ask for elements that the page has.
func TestScriptsFit(t *testing.T) {
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(source(t, page), -1) {
		if ids[m[1]] {
			t.Errorf("index.html has the id %q twice", m[1])
		}
		ids[m[1]] = true
	}
	imports, asked := 0, 0
	for _, name := range names(t, ".js") {
		src := source(t, name)
		for _, m := range regexp.MustCompile(`(?m)^import .* from '([^']+)';$`).FindAllStringSubmatch(src, -1) {
			imports++
			if _, err := fs.Stat(Files(), path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s imports %s: %v", name, m[1], err)
			}
		}
		for _, m := range regexp.MustCompile(`(?:byId|new Chart)\('([^']+)'`).FindAllStringSubmatch(src, -1) {
			asked++
			if !ids[m[1]] {
				t.Errorf("%s asks for #%s, which the page lacks", name, m[1])
			}
		}
	}
	if imports < 30 || asked < 40 {
		t.Errorf("found %d imports and %d ids: the patterns of this test are stale", imports, asked)
	}
	for _, m := range regexp.MustCompile(` (?:for|aria-labelledby)="([^"]+)"`).FindAllStringSubmatch(source(t, page), -1) {
		if !ids[m[1]] {
			t.Errorf("index.html refers to #%s, which it lacks", m[1])
		}
	}
}

func TestVendoredFilesAreUntouched(t *testing.T) {
	for name, want := range map[string]string{
		"vendor/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"vendor/uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"vendor/uPlot.LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		sum := sha256.Sum256([]byte(source(t, name)))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: got SHA-256 %s, want %s (see vendor/README.md)", name, got, want)
		}
	}
	if !strings.Contains(source(t, "vendor/uPlot.iife.min.js"), "(v1.6.32)") || !strings.Contains(source(t, "vendor/README.md"), "1.6.32") {
		t.Error("vendor/README.md and the file disagree about the version")
	}
}

func TestOpenCoversWhatHandlerServes(t *testing.T) {
	for p, want := range map[string]bool{"/": true, Prefix + loaded().hash + "/style.css": true, "/v1/models": false, "/health": false, "/uix": false, "": false} {
		if got := Open(p); got != want {
			t.Errorf("Open(%q): got %v, want %v", p, got, want)
		}
	}
}

func TestZipIsLeftOutWhereItSavesNothing(t *testing.T) {
	if got := zip([]byte("ab")); got != nil {
		t.Errorf("2 bytes: got %d bytes, want none", len(got))
	}
	if got := zip(bytes.Repeat([]byte("ab"), 500)); got == nil || len(got) > 100 {
		t.Errorf("1000 equal bytes: got %d bytes", len(got))
	}
}
