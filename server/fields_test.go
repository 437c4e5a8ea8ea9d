package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/server/body"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts and the field tables of docs/api.md")

const aTool = `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"type":"string"}}}}}`

// fieldProbe is one field of one route: values that are taken and values that are refused, as JSON.
type fieldProbe struct {
	field string
	also  string // what a value of it needs beside it, as members of the body
	good  []string
	bad   []string
}

// fieldRoute is a route that reads a body, with a probe for every field it knows.
type fieldRoute struct {
	path   string
	base   map[string]string // a good body
	decode func(r *body.Reader, m *Model) error
	probes []fieldProbe
}

// samplingProbes are the same wherever sampling is read.
var samplingProbes = []fieldProbe{
	{"model", "", []string{`"nano"`}, []string{`"gpt-4"`, `5`}},
	{"stream", "", []string{`true`, `false`}, []string{`1`}},
	{"temperature", "", []string{`0`, `0.7`, `1`}, []string{`-1`, `2.5`, `"hot"`}},
	{"top_p", "", []string{`0`, `0.9`, `1`}, []string{`1.1`}},
	{"top_k", "", []string{`0`, `40`}, []string{`-1`, `1.5`}},
	{"min_p", "", []string{`0.05`}, []string{`2`}},
	{"presence_penalty", "", []string{`-2`, `0.5`}, []string{`3`}},
	{"frequency_penalty", "", []string{`-2`, `0.5`}, []string{`3`}},
	{"repetition_penalty", "", []string{`1.1`}, []string{`0`}},
	{"logit_bias", "", []string{`{"5":-100}`}, []string{`{"99999":1}`, `[1]`}},
	{"seed", "", []string{`7`, `-1`}, []string{`1.5`, `"7"`}},
	{"depth", "", []string{`0`, `7`}, []string{`8`}},
	{"acceptance", "", []string{`"coupled"`, `"residual"`}, []string{`"greedy"`}},
}

var clientProbes = []fieldProbe{
	{"user", "", []string{`"me"`}, []string{`1`}},
	{"safety_identifier", "", []string{`"me"`}, []string{`1`}},
	{"prompt_cache_key", "", []string{`"k"`}, []string{`1`}},
	{"metadata", "", []string{`{"a":"b"}`}, []string{`{"a":1}`}},
	{"stop", "", []string{`"x"`, `["a","b","c","d"]`}, []string{`["a","b","c","d","e"]`, `""`}},
}

var thinkingProbes = []fieldProbe{
	{"enable_thinking", "", []string{`false`, `true`}, []string{`"no"`}},
	{"chat_template_kwargs", "", []string{`{"preserve_thinking":true}`}, []string{`{"messages":[]}`}},
}

// fixedProbes are those of a table of single values.
func fixedProbes(table []fixed) (out []fieldProbe) {
	for _, f := range table {
		out = append(out, fieldProbe{f.field, "", f.takes, []string{`{"other":1}`}})
	}
	return out
}

func fieldRoutes() []fieldRoute {
	hi := `[{"role":"user","content":"hi"}]`
	return []fieldRoute{
		{"/v1/chat/completions", map[string]string{"messages": hi},
			func(r *body.Reader, m *Model) error { _, err := decodeChat(r, m, "chatcmpl-1"); return err },
			slices.Concat([]fieldProbe{
				{"messages", "", []string{hi}, []string{`[]`, `"hi"`, `[{"role":"user","content":[{"type":"image_url"}]}]`}},
				{"stream_options", `"stream":true`, []string{`{"include_usage":true}`}, []string{`{"x":1}`}},
				{"max_tokens", "", []string{`5`}, []string{`0`}},
				{"max_completion_tokens", "", []string{`5`}, []string{`0`}},
				{"n", "", []string{`1`, `4`}, []string{`0`, `129`}},
				{"logprobs", "", []string{`true`, `false`}, []string{`5`}},
				{"top_logprobs", `"logprobs":true`, []string{`0`, `20`}, []string{`21`}},
				{"tools", "", []string{`[` + aTool + `]`}, []string{`[{"type":"web_search"}]`}},
				{"tool_choice", `"tools":[` + aTool + `]`, []string{`"auto"`, `"none"`, `"required"`, `{"type":"function","function":{"name":"f"}}`}, []string{`{"type":"function","function":{"name":"g"}}`, `"maybe"`}},
				{"response_format", "", []string{`{"type":"text"}`, `{"type":"json_object"}`, `{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object"}}}`}, []string{`{"type":"grammar"}`, `{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string","pattern":"a"}}}`}},
				{"parallel_tool_calls", "", []string{`true`, `false`}, []string{`1`}},
				{"reasoning_effort", "", []string{`"none"`}, []string{`"much"`}},
			}, samplingProbes, clientProbes, thinkingProbes, fixedProbes(chatFixed))},
		{"/v1/completions", map[string]string{"prompt": `"hi"`},
			func(r *body.Reader, m *Model) error { _, err := decodeCompletion(r, m, "cmpl-1"); return err },
			slices.Concat([]fieldProbe{
				{"prompt", "", []string{`"hi"`, `[5,6]`, `["a","b"]`, `[[5],[6]]`}, []string{`5`, `[]`, `[99999]`}},
				{"stream_options", `"stream":true`, []string{`{"include_usage":true}`}, []string{`{"x":1}`}},
				{"max_tokens", `"echo":true`, []string{`5`, `0`}, []string{`-1`}},
				{"max_completion_tokens", "", []string{`5`}, []string{`0`}},
				{"n", "", []string{`1`, `4`}, []string{`0`, `129`}},
				{"echo", "", []string{`true`, `false`}, []string{`1`}},
				{"logprobs", "", []string{`0`, `20`}, []string{`21`, `true`}},
			}, samplingProbes, clientProbes, fixedProbes(completionFixed))},
		{"/v1/messages", map[string]string{"messages": hi, "max_tokens": "2000"},
			func(r *body.Reader, m *Model) error { _, err := decodeAnthropic(r, m, "msg_1"); return err },
			slices.Concat(anthropicPrompt(hi), []fieldProbe{
				{"max_tokens", "", []string{`5`}, []string{`0`}},
				{"stop_sequences", "", []string{`["a","b"]`}, []string{`"a"`}},
				{"metadata", "", []string{`{"user_id":"me"}`}, []string{`{"a":"b"}`}},
			}, atMostOne(samplingProbes), thinkingProbes, fixedProbes(anthropicFixed))},
		{"/v1/messages/count_tokens", map[string]string{"messages": hi},
			func(r *body.Reader, m *Model) error { _, err := decodeCount(r, m); return err },
			slices.Concat(anthropicPrompt(hi), samplingProbes[:1], thinkingProbes, fixedProbes(countFixed))},
		{"/v1/responses", map[string]string{"input": `"hi"`},
			func(r *body.Reader, m *Model) error { _, err := decodeResponses(r, m, "resp_1"); return err },
			slices.Concat([]fieldProbe{
				{"input", "", []string{`"hi"`, hi}, []string{`[]`, `[{"type":"item_reference","id":"x"}]`}},
				{"instructions", "", []string{`"Be kind."`}, []string{`1`}},
				{"stream_options", `"stream":true`, []string{`{"include_obfuscation":false}`}, []string{`{"include_usage":true}`}},
				{"max_output_tokens", "", []string{`5`}, []string{`0`}},
				{"include", "", []string{`["message.output_text.logprobs","reasoning.encrypted_content"]`}, []string{`["file_search_call.results"]`}},
				{"top_logprobs", `"include":["message.output_text.logprobs"]`, []string{`3`}, []string{`21`}},
				{"tools", "", []string{`[{"type":"function","name":"f","parameters":{"type":"object"}}]`}, []string{`[{"type":"web_search"}]`}},
				{"tool_choice", `"tools":[{"type":"function","name":"f"}]`, []string{`"auto"`, `"none"`, `"required"`, `{"type":"function","name":"f"}`}, []string{`{"type":"web_search"}`, `"maybe"`}},
				{"parallel_tool_calls", "", []string{`true`, `false`}, []string{`1`}},
				{"reasoning", "", []string{`{"effort":"none"}`, `{"summary":"auto"}`}, []string{`{"summary":"detailed"}`}},
				{"text", "", []string{`{"format":{"type":"text"},"verbosity":"medium"}`, `{"format":{"type":"json_object"}}`, `{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}`}, []string{`{"format":{"type":"grammar"}}`, `{"verbosity":"low"}`}},
			}, samplingProbes, clientProbes, thinkingProbes, fixedProbes(responsesFixed))},
		{"/tokenize", map[string]string{"prompt": `"hi"`},
			func(r *body.Reader, m *Model) error { _, err := decodeTokenize(r, m); return err },
			slices.Concat([]fieldProbe{
				{"prompt", "", []string{`"hi"`}, []string{`5`}},
				{"parse_special", "", []string{`false`}, []string{`1`}},
				{"return_token_strs", "", []string{`true`}, []string{`1`}},
				{"add_special_tokens", "", []string{`true`, `false`}, []string{`1`}},
				{"messages", "-prompt", []string{hi}, []string{`[]`}},
				{"tools", "-prompt,messages", []string{`[` + aTool + `]`}, []string{`[{"type":"web_search"}]`}},
				{"tool_choice", "-prompt,messages", []string{`"none"`}, []string{`"maybe"`}},
				{"parallel_tool_calls", "-prompt,messages", []string{`false`}, []string{`1`}},
				{"enable_thinking", "-prompt,messages", []string{`false`}, []string{`"no"`}},
				{"chat_template_kwargs", "-prompt,messages", []string{`{}`}, []string{`{"messages":[]}`}},
				{"reasoning_effort", "-prompt,messages", []string{`"none"`}, []string{`"much"`}},
				{"add_generation_prompt", "-prompt,messages", []string{`true`}, []string{`false`}},
			}, samplingProbes[:1])},
		{"/detokenize", map[string]string{"tokens": `[5]`},
			func(r *body.Reader, m *Model) error { _, err := decodeDetokenize(r, m); return err },
			slices.Concat([]fieldProbe{
				{"tokens", "", []string{`[5,6]`, `[]`}, []string{`[99999]`}},
				{"skip_special_tokens", "", []string{`true`}, []string{`1`}},
			}, samplingProbes[:1])},
	}
}

// anthropicPrompt are the fields that make the prompt on the Anthropic wire.
func anthropicPrompt(hi string) []fieldProbe {
	tool := `[{"name":"f","input_schema":{"type":"object"}}]`
	return []fieldProbe{
		{"messages", "", []string{hi}, []string{`[]`, `[{"role":"user","content":[{"type":"image"}]}]`, `[{"role":"assistant","content":"x"}]`}},
		{"system", "", []string{`"Be kind."`, `[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}]`}, []string{`5`}},
		{"tools", "", []string{tool}, []string{`[{"type":"web_search_20250305","name":"web_search"}]`}},
		{"tool_choice", `"tools":` + tool, []string{`{"type":"auto"}`, `{"type":"none"}`, `{"type":"any"}`, `{"type":"tool","name":"f"}`, `{"type":"auto","disable_parallel_tool_use":true}`}, []string{`{"type":"some"}`, `{"type":"tool"}`}},
		{"thinking", "", []string{`{"type":"enabled","budget_tokens":1024}`, `{"type":"adaptive"}`, `{"type":"disabled"}`}, []string{`{"type":"enabled"}`, `{"type":"deep"}`}},
		{"output_config", "", []string{`{"effort":"none"}`, `{"format":{"type":"json_schema","schema":{"type":"object"}}}`}, []string{`{"effort":"high"}`, `{"format":{"type":"text"}}`}},
		{"cache_control", "", []string{`{"type":"ephemeral"}`}, []string{`{"type":"for ever"}`}},
	}
}

// atMostOne adds what the Anthropic wire refuses beyond the others.
func atMostOne(probes []fieldProbe) []fieldProbe {
	out := slices.Clone(probes)
	for i := range out {
		if out[i].field == "temperature" {
			out[i].bad = append(slices.Clone(out[i].bad), `1.5`)
		}
	}
	return out
}

// body makes a body with a value of the field.
func (p fieldProbe) body(route fieldRoute, value string) string {
	members := map[string]string{}
	for k, v := range route.base {
		members[k] = v
	}
	if without, ok := strings.CutPrefix(p.also, "-"); ok {
		name, add, _ := strings.Cut(without, ",")
		delete(members, name)
		if add != "" {
			members[add] = `[{"role":"user","content":"hi"}]`
		}
	} else if p.also != "" {
		name, v, _ := strings.Cut(p.also, ":")
		members[strings.Trim(name, `"`)] = v
	}
	members[p.field] = value
	out, err := json.Marshal(rawMembers(members))
	if err != nil {
		panic(err)
	}
	return string(out)
}

func rawMembers(members map[string]string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range members {
		out[k] = json.RawMessage(v)
	}
	return out
}

// TestFieldTable sends every field of every route with values that are taken and values that are refused, checks that no
// field is forgotten and that the tables of docs/api.md are what was seen here.
func TestFieldTable(t *testing.T) {
	var page strings.Builder
	for _, route := range fieldRoutes() {
		fmt.Fprintf(&page, "\n#### `%s`\n\n| field | taken (examples) | refused (examples) |\n| --- | --- | --- |\n", route.path)
		probed := map[string]bool{}
		for _, p := range route.probes {
			if probed[p.field] {
				t.Errorf("%s: %s is probed twice", route.path, p.field)
			}
			probed[p.field] = true
			for _, value := range append([]string{}, p.good...) {
				w := call(testServer(t, newFake(), Options{}), "POST", route.path, p.body(route, value))
				if w.Code != 200 {
					t.Errorf("%s %s = %s: got %d %s, want 200", route.path, p.field, value, w.Code, w.Body)
				}
			}
			var refused []string
			for _, value := range p.bad {
				e := newFake()
				w := call(testServer(t, e, Options{}), "POST", route.path, p.body(route, value))
				if w.Code != 400 && w.Code != 404 || !strings.Contains(w.Body.String(), p.field) || len(e.requests) > 0 {
					t.Errorf("%s %s = %s: got %d %s and %d requests, want a refusal that names the field", route.path, p.field, value, w.Code, w.Body, len(e.requests))
				}
				refused = append(refused, "`"+value+"`")
			}
			if len(p.good) == 0 {
				refused = []string{"any value"}
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.field, quoted(p.good), strings.Join(refused, ", "))
		}
		for _, name := range knownFields(t, route) {
			if !probed[name] {
				t.Errorf("%s: the decoder reads %q, which no probe covers", route.path, name)
			}
			delete(probed, name)
		}
		for name := range probed {
			t.Errorf("%s: %q is probed, but the decoder does not read it", route.path, name)
		}
	}
	replaceBlock(t, "../docs/api.md", "fields", page.String()+"\n")
}

func quoted(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(values, "`, `") + "`"
}

// knownFields asks the decoder itself.
func knownFields(t *testing.T, route fieldRoute) []string {
	t.Helper()
	known := map[string]bool{}
	bodies := []map[string]string{route.base}
	if route.path == "/tokenize" {
		bodies = append(bodies, map[string]string{"messages": `[{"role":"user","content":"hi"}]`})
	}
	for _, members := range bodies {
		text, err := json.Marshal(rawMembers(members))
		if err != nil {
			t.Fatal(err)
		}
		v, err := body.Parse(text, bodyLimits)
		if err != nil {
			t.Fatal(err)
		}
		r, err := body.Read(v, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := route.decode(r, testModel(t)); err != nil {
			t.Fatalf("%s %s: %v", route.path, text, err)
		}
		for _, name := range r.Known() {
			known[name] = true
		}
	}
	out := []string{}
	for name := range known {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// replaceBlock compares what stands between two comments of a page, or writes it with -update.
func replaceBlock(t *testing.T, path, name, want string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+":begin (made by tests: go test ./server -update) -->\n", "<!-- "+name+":end -->"
	head, rest, ok := strings.Cut(string(raw), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no block %q", path, name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("the block %q of %s is not what this test saw: run go test ./server -update", name, path)
	}
	if t.Failed() {
		t.Fatal("not updated: see the errors above")
	}
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
