package web

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path under which the assets are served; Handler wants "/" and everything under Prefix.
const Prefix = "/ui/"

// Policy is the content security policy of every answer. connect-src is the page's own origin: it can talk to nobody else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var loaded = sync.OnceValue(func() *bundle {
	b, err := load(Files(), Prefix)
	if err != nil {
		panic(err) // the files are embedded: a test of this package fails first
	}
	return b
})

// Handler serves the page at "/" and its assets under Prefix to GET and HEAD; other paths are 404, other methods 405. It is
// safe for concurrent use and reads nothing from disk.
func Handler() http.Handler { return loaded() }

// Open reports whether a path belongs to the page. These paths carry no secret and must be served without an API key, or
// nobody could type one in.
func Open(path string) bool { return path == "/" || strings.HasPrefix(path, Prefix) }

// ServeHTTP implements http.Handler.
func (b *bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	a, cache, ok := b.find(r.URL.Path)
	if !ok {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	h.Set("Cache-Control", cache)
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.tag)
	h.Add("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if a.zipped != nil && takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // a client that is gone needs nothing
	}
}

// find resolves a path and says how it may be cached. Assets of another hash are not ours: 404.
func (b *bundle) find(path string) (a asset, cache string, ok bool) {
	if path == "/" {
		return b.assets[page], "no-cache", true
	}
	name, ok := strings.CutPrefix(path, Prefix+b.hash+"/")
	if !ok || name == page {
		return asset{}, "", false
	}
	a, ok = b.assets[name]
	return a, "public, max-age=31536000, immutable", ok
}

// matches implements If-None-Match: a list of tags, weak ones too, or "*".
func matches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// takesGzip reads Accept-Encoding: gzip is taken when named without q=0.
func takesGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
		return q == "" || (err == nil && weight > 0)
	}
	return false
}
