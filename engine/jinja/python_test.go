package jinja

import (
	"encoding/json"
	"maps"
	"testing"
	"time"
)

// departures are templates that we refuse and Jinja takes. Everything else must be equal.
var departures = map[string]string{
	"{{ 'x'|urlencode }}":  "no chat template needs it",
	"{{ 'ab'|center(6) }}": "no chat template needs it",
	"{% raw %}":            "Jinja overlooks a raw block that ends with the template",
}

// TestAgainstPython compares with Jinja2 itself on small templates that cover each operator, filter, test, method and tag.
func TestAgainstPython(t *testing.T) {
	var golden struct {
		Vars  json.RawMessage
		Cases []struct {
			Template string
			Text     *string
			Error    string
		}
	}
	readGolden(t, "testdata/python.json", &golden)
	if len(golden.Cases) < 550 {
		t.Fatalf("got %d cases, want at least 550", len(golden.Cases))
	}
	vars := goldenCase{Kwargs: golden.Vars}.vars(t)
	left := maps.Clone(departures)
	now := func() time.Time { return time.Date(2026, 8, 9, 7, 5, 3, 0, time.UTC) }
	for _, c := range golden.Cases {
		tpl, err := Parse(c.Template)
		got := ""
		if err == nil {
			got, err = tpl.RenderWith(vars, Options{Now: now})
		}
		switch e, _ := err.(*Error); {
		case c.Text != nil && err != nil:
			if departures[c.Template] == "" {
				t.Errorf("%q: %v, want %q", c.Template, err, *c.Text)
			}
			delete(left, c.Template)
		case c.Text != nil && got != *c.Text:
			t.Errorf("%q:\n got %q\nwant %q", c.Template, got, *c.Text)
		case c.Text == nil && err == nil:
			t.Errorf("%q: got %q, want an error (%s)", c.Template, got, c.Error)
		case c.Text == nil && e == nil:
			t.Errorf("%q: error of type %T: %v", c.Template, err, err)
		case c.Text == nil && e.Raised && e.Error() != c.Error:
			t.Errorf("%q: raised %q, want %q", c.Template, e, c.Error)
		}
	}
	for template := range left {
		t.Errorf("%q is listed as a departure and is none", template)
	}
}
