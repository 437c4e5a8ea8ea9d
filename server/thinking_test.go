package server

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/grammar"
)

// TestEffort: levels go to a template that hears them, in its own words; one that does not hear them refuses the field.
func TestEffort(t *testing.T) {
	flash, err := os.ReadFile("../engine/jinja/testdata/flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		template string
		want     map[string]string
	}{
		"flash knows low, medium and xhigh": {string(flash), map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "xhigh", "xhigh": "xhigh", "max": "xhigh"}},
		"any word":                          {`{{ messages[0].content }}{{ reasoning_effort }}`, map[string]string{"minimal": "minimal", "high": "high", "max": "max"}},
		"none":                              {`{# reasoning_effort #}{{ messages[0].content }}`, map[string]string{"low": "", "high": ""}},
		"weaker only":                       {`{% if reasoning_effort is defined and reasoning_effort != 'low' %}{{ raise_exception('no') }}{% endif %}x`, map[string]string{"minimal": "low", "low": "low", "max": "low"}},
	} {
		template, err := chat.NewTemplate(c.template, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := testModel(t)
		m.Template = template
		for level, want := range c.want {
			if got := m.effort(level); got != want {
				t.Errorf("%s: %s became %q, want %q", name, level, got, want)
			}
		}
	}
	m := testModel(t)
	if m.Template, err = chat.NewTemplate(string(flash), nil); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct{ path, body, says string }{
		{"/v1/chat/completions", with(`"reasoning_effort":"minimal"`), "Think briefly."},
		{"/v1/responses", `{"input":"hi","reasoning":{"effort":"high"}}`, "Think with great care."},
		{"/v1/messages", anthropicBody(`"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`), "Think briefly."},
	} {
		e := newFake()
		s, err := New(Options{}, e, m)
		if err != nil {
			t.Fatal(err)
		}
		if w := call(s, "POST", q.path, q.body); w.Code != 200 {
			t.Fatalf("%s: %d %s", q.path, w.Code, w.Body)
		}
		if text := m.Tokenizer.Decode(e.last(t).Prompt, false); !strings.Contains(text, q.says) {
			t.Errorf("%s: prompt %q lacks %q", q.path, text, q.says)
		}
	}
}

// TestBudgetIsReplayed: a saved answer holds the budget, and one that makes no sense is refused.
func TestBudgetIsReplayed(t *testing.T) {
	e := newFake()
	w := call(testServer(t, e, Options{}), "POST", "/v1/messages", anthropicBody(`"thinking":{"type":"enabled","budget_tokens":1024}`))
	saved, err := ReadSaved(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	q, err := saved.Replay.Request()
	if err != nil || !reflect.DeepEqual(q.Budget, e.last(t).Budget) || q.Budget == nil {
		t.Errorf("got %+v, %v, want %+v", q, err, e.last(t).Budget)
	}
	for _, b := range []grammar.Budget{{Tokens: 5}, {Tokens: 0, End: []int32{1}}, {Tokens: 5, End: []int32{-1}}} {
		saved.Replay.Budget = &b
		if _, err := saved.Replay.Request(); !errors.Is(err, ErrReplay) {
			t.Errorf("%+v: got %v, want ErrReplay", b, err)
		}
	}
}
