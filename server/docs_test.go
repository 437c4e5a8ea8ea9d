package server

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameEverything: docs/api.md names every route, every field with a single value, and every error code of the
// source. Fields that are read are named there, too.
func TestDocsNameEverything(t *testing.T) {
	raw, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	s := testServer(t, newFake(), Options{DebugFaults: true, Pprof: true})
	for _, r := range s.echo.Routes() {
		if !strings.Contains(page, "`"+r.Method+" "+r.Path+"`") && !strings.Contains(page, "`"+r.Path+"`") {
			t.Errorf("docs/api.md lacks the route %s %s", r.Method, r.Path)
		}
	}
	for _, f := range append(append([]fixed{}, chatFixed...), completionFixed...) {
		if !strings.Contains(page, "`"+f.field+"`") {
			t.Errorf("docs/api.md lacks the field %s", f.field)
		}
		for _, v := range f.takes {
			if !strings.Contains(page, "`"+v+"`") {
				t.Errorf("docs/api.md lacks the value %s of %s", v, f.field)
			}
		}
	}
	getter := regexp.MustCompile(`\b[a-z]\.(?:Str|Bool|Float|Int|Take|Array|Object|Reader)\("(\w+)"|set\(&p\.\w+, "(\w+)"|refuse\([^"]*"(\w+)"|\bCode\w+ += "(\w+)"`)
	sources, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, f := range sources {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range getter.FindAllStringSubmatch(string(src), -1) {
			name := m[1] + m[2] + m[3] + m[4]
			names++
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
				t.Errorf("docs/api.md lacks %q, which %s reads or answers", name, f.Name())
			}
		}
	}
	if names < 60 {
		t.Errorf("only %d names found in the source: the pattern of this test is stale", names)
	}
}
