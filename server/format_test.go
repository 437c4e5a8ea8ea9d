package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/grammar"
)

// accepts runs a text through a request's grammar, token by token, and says whether it is a document of it.
func accepts(t *testing.T, m *Model, b *grammar.Bound, text string) bool {
	t.Helper()
	ids, err := m.Tokenizer.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	at := b.Start()
	for _, id := range ids {
		if !at.Accept(id) {
			return false
		}
	}
	return at.Done()
}

// TestConstraints: what the wires ask for, each in its own words, is the same grammar, and it begins after the reasoning.
func TestConstraints(t *testing.T) {
	const schema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`
	strict := func(v bool) string {
		return fmt.Sprintf(`"tools":[{"type":"function","function":{"name":"f","strict":%v,"parameters":%s}},{"type":"function","function":{"name":"g"}}]`, v, schema)
	}
	callF, callG := "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>", "<tool_call>\n<function=g>\n</function>\n</tool_call>"
	anthropicTools := `"tools":[{"name":"f","input_schema":` + schema + `},{"name":"g","input_schema":{"type":"object"}}]`
	flatTools := `"tools":[{"type":"function","name":"f","parameters":` + schema + `},{"type":"function","name":"g"}]`
	for name, c := range map[string]struct {
		path, body string
		yes, no    []string
	}{
		"chat json_object":        {"/v1/chat/completions", with(`"response_format":{"type":"json_object"}`), []string{`{"a": [1, "x"]}`}, []string{`[1]`, `x`, ``}},
		"chat json_schema":        {"/v1/chat/completions", with(`"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + schema + `}}`), []string{`{"x": 5}`}, []string{`{"x": 1.5}`, `{}`}},
		"chat required":           {"/v1/chat/completions", with(`"tool_choice":"required",` + strict(false)), []string{callF, callG, callF + "\n" + callG}, []string{"no", ""}},
		"chat required, one call": {"/v1/chat/completions", with(`"parallel_tool_calls":false,"tool_choice":"required",` + strict(false)), []string{callF, callG}, []string{callF + "\n" + callG}},
		"chat named":              {"/v1/chat/completions", with(`"tool_choice":{"type":"function","function":{"name":"f"}},` + strict(false)), []string{callF}, []string{callG, "no"}},
		"chat strict auto":        {"/v1/chat/completions", with(strict(true)), []string{callF, callG, "free text"}, []string{strings.Replace(callF, "1", "one", 1)}},
		"messages any":            {"/v1/messages", anthropicBody(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},` + anthropicTools), []string{callF, callG}, []string{"no"}},
		"messages tool":           {"/v1/messages", anthropicBody(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"tool","name":"g"},` + anthropicTools), []string{callG}, []string{callF}},
		"messages format":         {"/v1/messages", anthropicBody(`"thinking":{"type":"adaptive"},"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`), []string{`{"x": 5}`}, []string{`{}`}},
		"responses required":      {"/v1/responses", `{"input":"hi","tool_choice":"required",` + flatTools + `}`, []string{callF, callG}, []string{"no"}},
		"responses named":         {"/v1/responses", `{"input":"hi","tool_choice":{"type":"function","name":"f"},` + flatTools + `}`, []string{callF}, []string{callG}},
		"responses format":        {"/v1/responses", `{"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":` + schema + `}}}`, []string{`{"x": 5}`}, []string{`{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFake()
			s := testServer(t, e, Options{})
			w := call(s, "POST", c.path, c.body)
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			q := e.last(t)
			if q.Grammar == nil || !q.Parse.InThink {
				t.Fatalf("grammar %v, in think %v", q.Grammar, q.Parse.InThink)
			}
			for _, text := range c.yes {
				if !accepts(t, s.model, q.Grammar, "hm\n</think>\n\n"+text) {
					t.Errorf("%q is not accepted", text)
				}
			}
			for _, text := range append(c.no, "") {
				if text == "" && strings.Contains(name, "auto") {
					continue
				}
				if accepts(t, s.model, q.Grammar, "hm\n</think>\n\n"+text) {
					t.Errorf("%q is accepted", text)
				}
			}
			saved, err := ReadSaved(w.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if again, err := saved.Replay.RequestIn(s.model.Grammars); err != nil || again.Grammar != q.Grammar {
				t.Errorf("replay: %v, the same grammar: %v", err, again != nil && again.Grammar == q.Grammar)
			}
			if _, err := saved.Replay.Request(); err == nil {
				t.Error("replay without grammars: got no error")
			}
		})
	}
	e := newFake()
	s := testServer(t, e, Options{})
	call(s, "POST", "/v1/chat/completions", with(`"enable_thinking":false,"response_format":{"type":"json_object"}`))
	if q := e.last(t); !accepts(t, s.model, q.Grammar, `{"a": 1}`) {
		t.Error("without thinking the document does not begin at once")
	}
	call(s, "POST", "/v1/chat/completions", with(strict(false)))
	if q := e.last(t); q.Grammar != nil {
		t.Error("tools that are not strict are held to a grammar")
	}
}

// TestGrammarsAreKept: the same schema is compiled once, and no more than so many are kept.
func TestGrammarsAreKept(t *testing.T) {
	g := testModel(t).Grammars
	first, err := g.bind(&constraint{Kind: kindObject}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxGrammars {
		if _, err := g.bind(&constraint{Kind: kindSchema, Schema: fmt.Appendf(nil, `{"const":%d}`, i)}, nil); err != nil {
			t.Fatal(err)
		}
		if again, _ := g.bind(&constraint{Kind: kindObject}, nil); again != first {
			t.Fatal("a grammar in use was dropped")
		}
	}
	if len(g.bounds) != maxGrammars || len(g.order) != maxGrammars {
		t.Errorf("%d grammars kept in an order of %d, want %d", len(g.bounds), len(g.order), maxGrammars)
	}
}

func TestWithoutGrammarsItIsRefused(t *testing.T) {
	m := testModel(t)
	m.Grammars = nil
	s, err := New(Options{}, newFake(), m)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, call(s, "POST", "/v1/chat/completions", with(`"response_format":{"type":"json_object"}`)), 400, "unsupported_parameter", "response_format")
}

// TestStopAgainstFormat: a stop string could leave half a document, which the format promises never to give.
func TestStopAgainstFormat(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	body := `{"messages":[{"role":"user","content":"hi"}],"stop":["\""],"response_format":{"type":"json_object"}}`
	wantError(t, call(s, "POST", "/v1/chat/completions", body), 400, "unsupported_parameter", "stop")
}
