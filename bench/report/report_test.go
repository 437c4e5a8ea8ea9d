package report_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/bench/report"
)

func TestTable(t *testing.T) {
	tab := report.Table{Head: []string{"arm", "tok/s", "±"}}
	tab.Row("control", "100.0", "+1 %")
	tab.Row("añb", "9.0", "-12 %")
	want := `| arm     | tok/s |     ± |
| ------- | ----: | ----: |
| control | 100.0 |  +1 % |
| añb     |   9.0 | -12 % |
`
	if d := cmp.Diff(want, tab.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("a row of another width was taken")
		}
	}()
	tab.Row("x")
}

func TestSetup(t *testing.T) {
	s := report.NewSetup([]string{"bench", "--note", "it's shared", "--out", "x"}, "v1", "shared")
	if want := `flashlane bench --note 'it'\''s shared' --out x`; s.Command != want {
		t.Errorf("got command %q, want %q", s.Command, want)
	}
	for _, want := range []string{s.Command, "cores", "v1", "shared\n"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("%q lacks %q", s.String(), want)
		}
	}
}

func TestSave(t *testing.T) {
	base := filepath.Join(t.TempDir(), "run")
	names, err := report.Files{Markdown: "# x\n", JSON: map[string]int{"a": 1}}.Save(base)
	if err != nil || len(names) != 2 {
		t.Fatalf("got %v, %v, want two files: there is no chart", names, err)
	}
	raw, err := os.ReadFile(base + ".json")
	var back map[string]int
	if err != nil || json.Unmarshal(raw, &back) != nil || back["a"] != 1 {
		t.Errorf("got %s, %v", raw, err)
	}
	if _, err := (report.Files{JSON: math.NaN()}).Save(base); err == nil {
		t.Error("a figure that is no number was written as JSON")
	}
	if _, err := (report.Files{Markdown: "x"}).Save(filepath.Join(base, "no", "folder")); err == nil {
		t.Error("a folder that is not there was written to")
	}
}
