package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/jinja"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// nanoFile reads a file of the embedded pack by path; or, in a tree without it, of the shared nano pack, where it is the same.
func nanoFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../nano/pack", name))
	if dir := os.Getenv("FLASHLANE_GOLDEN_DIR"); err != nil && dir != "" {
		raw, err = os.ReadFile(filepath.Join(dir, "pack/nano", name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func nanoTemplate(t testing.TB) *Template {
	t.Helper()
	tpl, err := OpenTemplate(nanoFile(t, "chat_template.jinja"), nanoFile(t, "tokenizer_config.json"))
	if err != nil || tpl == nil {
		t.Fatalf("OpenTemplate: %v, %v", tpl, err)
	}
	return tpl
}

func nanoTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(nanoFile(t, "tokenizer.json"), nanoFile(t, "tokenizer_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestNanoGolden renders and encodes the reference's cases; they are kept with the template evaluator.
func TestNanoGolden(t *testing.T) {
	raw, err := os.ReadFile("../jinja/testdata/nano.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Messages []json.RawMessage
		Kwargs   map[string]json.RawMessage
		Text     string
		IDs      []int32
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 14 {
		t.Fatalf("got %d cases, want 14", len(cases))
	}
	tpl, tok := nanoTemplate(t), nanoTokenizer(t)
	for _, c := range cases {
		in := Input{Messages: c.Messages, Kwargs: map[string]any{}}
		for k, v := range c.Kwargs {
			switch k {
			case "tools":
				in.Tools = v
			case "add_generation_prompt":
				in.AddGenerationPrompt = string(v) == "true"
			default:
				in.Kwargs[k] = v
			}
		}
		got, err := tpl.Render(in)
		if err != nil || got != c.Text {
			t.Errorf("%s: %v\n got %q\nwant %q", c.Name, err, got, c.Text)
			continue
		}
		if ids, err := tok.Encode(got); err != nil || !slices.Equal(ids, c.IDs) {
			t.Errorf("%s: ids %v, %v, want %v", c.Name, ids, err, c.IDs)
		}
		want := in.AddGenerationPrompt && string(c.Kwargs["enable_thinking"]) != "false"
		if InThink(got) != want {
			t.Errorf("%s: InThink = %v, want %v", c.Name, !want, want)
		}
	}
}

func messages(list ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		out[i] = json.RawMessage(m)
	}
	return out
}

// TestArguments: the wire has the arguments of a call as JSON text; templates need them as a mapping, in order.
func TestArguments(t *testing.T) {
	tpl := nanoTemplate(t)
	render := func(args string) (string, error) {
		return tpl.Render(Input{Messages: messages(`{"role":"user","content":"x"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":`+args+`}}]}`)})
	}
	call := func(params string) string {
		return "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n<function=f>\n" + params + "</function>\n</tool_call><|im_end|>\n"
	}
	for args, want := range map[string]string{
		`"{\"z\": \"</x>\\n1\", \"a\": {\"k\": 1.0, \"b\": [null, true]}, \"n\": 12345678901234567890}"`: call("<parameter=z>\n</x>\n1\n</parameter>\n<parameter=a>\n{\"k\": 1.0, \"b\": [null, true]}\n</parameter>\n<parameter=n>\n12345678901234567890\n</parameter>\n"),
		`""`: call(""), `"  "`: call(""), `"{}"`: call(""), `{}`: call(""), `null`: call(""),
	} {
		if got, err := render(args); err != nil || got != want {
			t.Errorf("arguments %s: %v\n got %q\nwant %q", args, err, got, want)
		}
	}
	for args, want := range map[string]string{`"{"`: "messages[1].tool_calls[0].function.arguments: not JSON", `"[1]"`: "want a JSON object", `"1"`: "want a JSON object"} {
		_, err := render(args)
		var e *RenderError
		if !errors.As(err, &e) || e.Raised || !strings.Contains(e.Error(), want) {
			t.Errorf("arguments %s: got %v, want a RenderError with %q", args, err, want)
		}
	}
}

func TestRenderErrors(t *testing.T) {
	tpl := nanoTemplate(t)
	user := `{"role":"user","content":"x"}`
	for _, c := range []struct {
		name   string
		in     Input
		want   string
		raised bool
	}{
		{"no messages", Input{}, "No messages provided.", true},
		{"late system", Input{Messages: messages(user, `{"role":"system","content":"x"}`)}, "System message must be at the beginning.", true},
		{"no object", Input{Messages: messages(user, `[]`)}, "messages[1]: want an object", false},
		{"no json", Input{Messages: messages(`{`)}, "messages[0]: ", false},
		{"no role", Input{Messages: messages(`{"content":"x"}`)}, "messages[0].role", false},
		{"calls", Input{Messages: messages(user, `{"role":"assistant","tool_calls":{}}`)}, "messages[1].tool_calls", false},
		{"call", Input{Messages: messages(user, `{"role":"assistant","tool_calls":[1]}`)}, "messages[1].tool_calls[0]", false},
		{"function", Input{Messages: messages(user, `{"role":"assistant","tool_calls":[{"function":1}]}`)}, "messages[1].tool_calls[0].function", false},
		{"tools", Input{Messages: messages(user), Tools: json.RawMessage(`{}`)}, "tools: want an array", false},
		{"tools json", Input{Messages: messages(user), Tools: json.RawMessage(`[`)}, "tools: ", false},
		{"own variable", Input{Messages: messages(user), Kwargs: map[string]any{"messages": 1}}, `"messages"`, false},
		{"strange variable", Input{Messages: messages(user), Kwargs: map[string]any{"x": struct{}{}}}, `"x"`, false},
		{"template error", Input{Messages: messages(`{"role":"user","content":"x"}`, `{"role":"assistant","tool_calls":[{"function":{"name":1,"arguments":{}}}]}`)}, "operand", false},
	} {
		_, err := tpl.Render(c.in)
		var e *RenderError
		if !errors.As(err, &e) || e.Raised != c.raised || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: got %v, want a RenderError (raised %v) with %q", c.name, err, c.raised, c.want)
		}
	}
	_, err := tpl.Render(Input{})
	var inner *jinja.Error
	if !errors.As(err, &inner) {
		t.Errorf("%v does not wrap the template's error", err)
	}
}

func TestOpenTemplate(t *testing.T) {
	render := func(tpl *Template, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		if tpl == nil {
			return "none"
		}
		text, err := tpl.Render(Input{Messages: messages(`{"role":"user"}`)})
		return fmt.Sprint(text, err)
	}
	for _, c := range []struct{ source, config, want string }{
		{"", "", "none"}, {"", `{}`, "none"}, {"", `{"chat_template":null}`, "none"},
		{"a{{ eos_token }}", `{"eos_token":"<e>","chat_template":"b"}`, "a<e><nil>"},
		{"", `{"eos_token":{"content":"<e>"},"chat_template":"b{{ eos_token }}{{ bos_token is defined }}"}`, "b<e>False<nil>"},
		{"", `{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]}`, "d<nil>"},
		{"{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "", "TrueTrueFalse<nil>"},
		{"{% x %}", "", "error: chat: chat template: jinja: line 1: unknown tag \"x\""},
	} {
		if got := render(OpenTemplate([]byte(c.source), []byte(c.config))); got != c.want {
			t.Errorf("OpenTemplate(%q, %q): got %q, want %q", c.source, c.config, got, c.want)
		}
	}
	for _, config := range []string{"{", `{"chat_template":5}`, `{"chat_template":[{"name":"x","template":"t"}]}`} {
		if tpl, err := OpenTemplate(nil, []byte(config)); err == nil {
			t.Errorf("OpenTemplate(nil, %q) = %v, want an error", config, tpl)
		}
	}
	if _, err := NewTemplate("x", []byte(`{"eos_token":5}`)); err == nil {
		t.Error("a token that is a number must be refused")
	}
}

func TestInThink(t *testing.T) {
	for prompt, want := range map[string]bool{
		"<|im_start|>assistant\n<think>\n":                                       true,
		"<|im_start|>assistant\n<think>":                                         true,
		"<|im_start|>assistant\n<think>\nLet me":                                 true,
		"<|im_start|>assistant\n<think>\n\n</think>\n\n":                         false,
		"<|im_start|>assistant\n":                                                false,
		"<|im_start|>user\nwhat is <think>?<|im_end|>\n<|im_start|>assistant\n":  false,
		"<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n<think>\n": true,
		"<think>\n": true, "a <think> b": false, "": false, "Assistant: <think> \n": true,
	} {
		if got := InThink(prompt); got != want {
			t.Errorf("InThink(%q) = %v, want %v", prompt, got, want)
		}
	}
}

// TestThroughTokens runs answers through the nano tokenizer, id by id, as a session does: the very parts come back.
func TestThroughTokens(t *testing.T) {
	tok := nanoTokenizer(t)
	for _, c := range parserCases {
		o := c.o
		o.Tools = weather
		ids, err := tok.Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		s, p := tok.NewStream(), NewParser(o)
		var out []Delta
		for _, id := range ids {
			out = append(out, p.PushToken(s.Push(id), tok.Added(id))...)
		}
		out = append(out, p.Push(s.Flush())...)
		if got, want := finish(p, out), (outcome{c.want, c.stop, c.open && c.spelt == ""}); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
	}
}

// TestRenderedCallsComeBack: what the template writes of a call is read back as the same call.
func TestRenderedCallsComeBack(t *testing.T) {
	tpl := nanoTemplate(t)
	for _, args := range []string{`{}`, `{"text":"plain"}`, `{"text":"a\nb\n"}`, `{"text":""}`, `{"path":"\n","text":"</parameter>\n</function>x"}`, `{"text":"<tool_call> \"q\" \\ é"}`,
		`{"path":"p","text":"  spaced  ","extra":{"a":[1,2.5,null]},"n":-3,"yes":true}`} {
		prompt, err := tpl.Render(Input{Messages: messages(`{"role":"user","content":"x"}`, `{"role":"assistant","reasoning_content":"hm","content":"So:","tool_calls":[{"function":{"name":"write","arguments":`+args+`}}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		_, answer, _ := strings.Cut(prompt, "<|im_start|>assistant\n<think>\n")
		answer = strings.TrimSuffix(answer, "<|im_end|>\n")
		p := NewParser(ParserOptions{InThink: true, Tools: weather})
		out := append(p.Push(answer), p.Flush()...)
		var got strings.Builder
		for _, d := range out {
			if d.Kind == ToolArgs {
				got.WriteString(d.Text)
			}
		}
		var a, b any
		if err := json.Unmarshal([]byte(args), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got.String()), &b); err != nil {
			t.Errorf("%s came back as %q: %v", args, got.String(), err)
			continue
		}
		if fmt.Sprint(a) != fmt.Sprint(b) || !strings.HasPrefix(show(out), "|R:hm|C:So:|0 write(") {
			t.Errorf("%s came back as %s in %s", args, got.String(), show(out))
		}
	}
}
