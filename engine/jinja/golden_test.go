package jinja

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// nanoTemplate is the embedded pack's template, opened by path; or, in a tree without it, that of the shared nano pack, which is the
// same.
func nanoTemplate(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile("../../nano/pack/chat_template.jinja")
	if dir := os.Getenv("FLASHLANE_GOLDEN_DIR"); err != nil && dir != "" {
		raw, err = os.ReadFile(filepath.Join(dir, "pack/nano/chat_template.jinja"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// goldenCase is a rendering that another implementation made: either a text or an error.
type goldenCase struct {
	Name     string
	Template string          // source of its own, where a file has several
	Messages json.RawMessage // an array
	Kwargs   json.RawMessage // an object
	Text     *string
	Error    string
}

func readGolden(t testing.TB, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func (c goldenCase) vars(t testing.TB) map[string]any {
	t.Helper()
	out := map[string]any{}
	if len(c.Kwargs) > 0 {
		kw, err := FromJSON(c.Kwargs)
		if err != nil {
			t.Fatal(err)
		}
		d := kw.(*Dict)
		for i := range d.Len() {
			k, v := d.At(i)
			out[k.(string)] = v
		}
	}
	if len(c.Messages) > 0 {
		m, err := FromJSON(c.Messages)
		if err != nil {
			t.Fatal(err)
		}
		out["messages"] = m
	}
	return out
}

func (c goldenCase) check(t *testing.T, tpl *Template) {
	t.Helper()
	got, err := tpl.RenderWith(c.vars(t), Options{Now: func() time.Time { return time.Date(2026, 8, 9, 7, 5, 3, 0, time.UTC) }})
	switch {
	case c.Text == nil && err == nil:
		t.Errorf("%s: got %q, want the error %q", c.Name, got, c.Error)
	case c.Text == nil && c.Error != "" && err.Error() != c.Error:
		t.Errorf("%s: got error %q, want %q", c.Name, err, c.Error)
	case c.Text != nil && err != nil:
		t.Errorf("%s: %v", c.Name, err)
	case c.Text != nil && got != *c.Text:
		t.Errorf("%s:\n got %q\nwant %q", c.Name, got, *c.Text)
	}
}

// TestNano renders the nano pack's template against the reference library's own output.
func TestNano(t *testing.T) {
	tpl, err := Parse(nanoTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	readGolden(t, "testdata/nano.json", &cases)
	if len(cases) != 14 {
		t.Fatalf("got %d cases, want 14", len(cases))
	}
	for _, c := range cases {
		c.check(t, tpl)
	}
	for name, vars := range map[string]map[string]any{
		"No messages provided.":                    {"messages": List{}},
		"System message must be at the beginning.": {"messages": mustJSON(t, `[{"role":"user","content":"a"},{"role":"system","content":"b"}]`)},
		"Unexpected message role.":                 {"messages": mustJSON(t, `[{"role":"critic","content":"a"}]`)},
		"nano reads text only.":                    {"messages": mustJSON(t, `[{"role":"user","content":[{"type":"image"}]}]`)},
	} {
		_, err := tpl.Render(vars)
		e, ok := err.(*Error)
		if !ok || !e.Raised || e.Error() != name {
			t.Errorf("got error %v, want the template's own %q", err, name)
		}
	}
}

func mustJSON(t testing.TB, s string) Value {
	t.Helper()
	v, err := FromJSON([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
