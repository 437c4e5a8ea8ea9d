package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostAndOrigin(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	for _, c := range []struct {
		host, origin string
		code         string // "" is served
	}{
		{"localhost", "", ""},
		{"localhost:8080", "", ""},
		{"LocalHost:1", "", ""},
		{"127.0.0.1", "", ""},
		{"127.255.3.4:99", "", ""},
		{"[::1]", "", ""},
		{"[::1]:8080", "http://[::1]:3000", ""},
		{"localhost", "http://localhost:3000", ""},
		{"localhost", "https://127.0.0.1", ""},
		{"evil.example", "", "foreign_host"},
		{"evil.example:8080", "", "foreign_host"},
		{"localhost.evil.example", "", "foreign_host"},
		{"127.0.0.1.evil.example", "", "foreign_host"},
		{"127.0.0.1@evil.example", "", "foreign_host"},
		{"localhost:8080.evil.example", "", "foreign_host"},
		{"128.0.0.1", "", "foreign_host"},
		{"0.0.0.0:8080", "", "foreign_host"},
		{"192.168.1.5:8080", "", "foreign_host"},
		{"[::2]", "", "foreign_host"},
		{"[fe80::1]:80", "", "foreign_host"},
		{"", "", "foreign_host"},
		{"localhost", "http://evil.example", "foreign_origin"},
		{"localhost", "http://localhost.evil.example", "foreign_origin"},
		{"localhost", "http://localhost@evil.example", "foreign_origin"},
		{"localhost", "null", "foreign_origin"},
		{"localhost", "file://", "foreign_origin"},
		{"localhost", "chrome-extension://abc", "foreign_origin"},
		{"localhost", "http://", "foreign_origin"},
		{"localhost", "::", "foreign_origin"},
	} {
		for _, route := range []string{"/health", "/v1/models", "/livez", "/nowhere"} {
			header := []string{"Host", c.host}
			if c.origin != "" {
				header = append(header, "Origin", c.origin)
			}
			w := call(s, "GET", route, "", header...)
			if c.code != "" {
				wantError(t, w, 403, c.code, "")
			} else if w.Code == 403 {
				t.Errorf("host %q origin %q %s: refused with %s", c.host, c.origin, route, w.Body)
			}
			if h := w.Header().Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("CORS is on: %q", h)
			}
		}
	}
}

func testKeys(t *testing.T) *Keys {
	t.Helper()
	k, err := ParseKeys(strings.NewReader("# ours\nalice:alice-secret\n\n  just-a-long-key\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeys(t *testing.T) {
	s := testServer(t, newFake(), Options{Keys: testKeys(t), DebugFaults: true, Pprof: true})
	routes := []string{"GET /health", "GET /metrics", "POST /v1/chat/completions", "POST /v1/completions", "POST /v1/responses", "POST /tokenize", "POST /detokenize", "GET /v1/models", "GET /v1/models/nano",
		"GET /v1/lanes", "PUT /v1/lanes/ple_cached_aux", "GET /v1/actors", "GET /v1/events", "DELETE /v1/requests/x", "POST /debug/fault", "GET /debug/pprof/", "GET /nowhere", "PATCH /v1/models"}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		w := call(s, method, path, "")
		wantError(t, w, 401, "missing_api_key", "")
		if !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: no WWW-Authenticate", route)
		}
		for _, wrong := range [][]string{{"Authorization", "Bearer wrong"}, {"X-Api-Key", "alice"}, {"Authorization", "Bearer alice:alice-secret"}, {"Authorization", "Bearer alice-secret2"}} {
			wantError(t, call(s, method, path, "", wrong...), 401, "invalid_api_key", "")
		}
	}
	for _, right := range [][]string{{"Authorization", "Bearer alice-secret"}, {"Authorization", "bearer  just-a-long-key"}, {"X-Api-Key", "alice-secret"}} {
		if w := call(s, "GET", "/health", "", right...); w.Code != 200 {
			t.Errorf("%v: %d %s", right, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if w := call(s, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s without a key: %d", path, w.Code)
		}
	}
	// With a key, other names of the machine are fine.
	if w := call(s, "GET", "/health", "", "Host", "gpu-box.example:8080", "X-Api-Key", "alice-secret"); w.Code != 200 {
		t.Errorf("another host with a key: %d", w.Code)
	}
	if d := cmp.Diff([]string{"alice", "key2"}, testKeys(t).Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}

func TestParseKeysRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":       {"", "no key"},
		"comments":    {"# a\n\n", "no key"},
		"short":       {"a:b\n", "line 1"},
		"no name":     {"ok:12345678\n:12345678\n", "line 2"},
		"name twice":  {"a:12345678\na:12345679\n", `"a" occurs twice`},
		"key twice":   {"a:12345678\nb:12345678\n", "line 2"},
		"space in it": {"a:1234 5678\n", "printable"},
		"umlaut":      {"a:1234567ü\n", "printable"},
	} {
		_, err := ParseKeys(strings.NewReader(c.text))
		if !errors.Is(err, ErrKeys) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "1234") {
			t.Errorf("%s: got %v, want ErrKeys with %q and without the key", name, err, c.says)
		}
	}
	if _, err := LoadKeys(t.TempDir() + "/none"); !errors.Is(err, ErrKeys) {
		t.Errorf("no file: %v", err)
	}
}

func TestCheckListen(t *testing.T) {
	for addr, want := range map[string]bool{ // served without a key
		"127.0.0.1:8080": true, "127.9.9.9:1": true, "[::1]:0": true, "localhost:80": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "192.168.0.1:80": false, "example.com:80": false, "127.0.0.1.evil.example:80": false,
	} {
		err := CheckListen(addr, false)
		if (err == nil) != want || (err != nil && !errors.Is(err, ErrOpenBind)) {
			t.Errorf("CheckListen(%q, false) = %v, want served %v", addr, err, want)
		}
		if err := CheckListen(addr, true); err != nil {
			t.Errorf("CheckListen(%q, true) = %v", addr, err)
		}
		if _, err := New(Options{Listen: addr}, newFake(), testModel(t)); (err == nil) != want {
			t.Errorf("New with %q: %v", addr, err)
		}
	}
	for _, addr := range []string{"", "8080", "127.0.0.1", "127.0.0.1:", "::1:80"} {
		if err := CheckListen(addr, true); err == nil {
			t.Errorf("CheckListen(%q): got no error", addr)
		}
	}
	s := testServer(t, newFake(), Options{Listen: "127.0.0.1:0"})
	ln, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestDebugRoutesAreOffByDefaultAndForThisMachineOnly(t *testing.T) {
	off := testServer(t, newFake(), Options{})
	wantError(t, call(off, "POST", "/debug/fault", `{"actor":"drafter"}`), 404, "unknown_route", "")
	wantError(t, call(off, "GET", "/debug/pprof/", ""), 404, "unknown_route", "")

	e := newFake()
	on := testServer(t, e, Options{DebugFaults: true, Pprof: true, Keys: testKeys(t)})
	key := []string{"X-Api-Key", "alice-secret"}
	if w := call(on, "POST", "/debug/fault", `{"actor":"drafter"}`, key...); w.Code != 202 || len(e.faults) != 1 {
		t.Errorf("fault: %d %s, faults %v", w.Code, w.Body, e.faults)
	}
	wantError(t, call(on, "POST", "/debug/fault", `{"actor":"nobody"}`, key...), 404, "unknown_actor", "actor")
	wantError(t, call(on, "POST", "/debug/fault", `{}`, key...), 400, "missing_required_parameter", "actor")
	wantError(t, call(on, "POST", "/debug/fault", `{"actor":"drafter","x":1}`, key...), 400, "unknown_parameter", "x")
	if w := call(on, "GET", "/debug/pprof/cmdline", "", key...); w.Code != 200 {
		t.Errorf("pprof: %d", w.Code)
	}
	for _, peer := range []string{"10.0.0.1:1", "[fe80::1]:1", "", "x"} {
		r, _ := http.NewRequest("POST", "http://localhost/debug/fault", strings.NewReader(`{"actor":"drafter"}`))
		r.RemoteAddr = peer
		r.Header.Set("X-Api-Key", "alice-secret")
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		wantError(t, serve(on, r), 403, "loopback_only", "")
	}
}
