package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/server/sse"
)

// anthropicBody puts fields into an otherwise good request.
func anthropicBody(fields string) string {
	return `{"model":"nano","max_tokens":2000,"messages":[{"role":"user","content":"hi"}],` + fields + `}`
}

// wantAnthropicError checks an answer for Anthropic's error shape.
func wantAnthropicError(t *testing.T, w *httptest.ResponseRecorder, status int, kind, says string) {
	t.Helper()
	var got map[string]any
	decode(t, w.Body.String(), &got)
	inner, _ := got["error"].(map[string]any)
	message, _ := inner["message"].(string)
	if w.Code != status || got["type"] != "error" || inner["type"] != kind || !strings.Contains(message, says) || got["request_id"] != w.Header().Get("Request-Id") {
		t.Errorf("got %d %s (Request-Id %q), want %d %s with %q", w.Code, w.Body, w.Header().Get("Request-Id"), status, kind, says)
	}
}

// anthropicAnswer assembles events as the SDKs do and checks their order.
func anthropicAnswer(t *testing.T, events []sseEvent) map[string]any {
	t.Helper()
	var m map[string]any
	var content []any
	var args string
	open, state := -1, ""
	for i, e := range events {
		if e.data == "" {
			continue // a comment
		}
		var d map[string]any
		decode(t, e.data, &d)
		if d["type"] != e.name {
			t.Errorf("event %d: name %q, type %v", i, e.name, d["type"])
		}
		if e.name == "ping" && state != "" {
			continue
		}
		index := int(number(d["index"]))
		switch e.name {
		case "message_start":
			if state != "" {
				t.Errorf("event %d: message_start after %s", i, state)
			}
			m = d["message"].(map[string]any)
			state = "message"
		case "content_block_start":
			if state != "message" || open >= 0 || index != len(content) {
				t.Errorf("event %d: block %d begins in state %q, block %d open, %d blocks before", i, index, state, open, len(content))
			}
			open = index
			content = append(content, d["content_block"])
			args = ""
		case "content_block_delta":
			if open != index {
				t.Errorf("event %d: delta for block %d while %d is open", i, index, open)
			}
			block, delta := content[index].(map[string]any), d["delta"].(map[string]any)
			switch delta["type"] {
			case "text_delta":
				block["text"] = block["text"].(string) + delta["text"].(string)
			case "thinking_delta":
				block["thinking"] = block["thinking"].(string) + delta["thinking"].(string)
			case "signature_delta":
				block["signature"] = block["signature"].(string) + delta["signature"].(string)
			case "input_json_delta":
				args += delta["partial_json"].(string)
			default:
				t.Errorf("event %d: delta %v", i, delta)
			}
		case "content_block_stop":
			if open != index {
				t.Errorf("event %d: stop of block %d while %d is open", i, index, open)
			}
			if args != "" {
				var input any
				decode(t, args, &input)
				content[index].(map[string]any)["input"] = input
			}
			open = -1
		case "message_delta":
			if open >= 0 {
				t.Errorf("event %d: message_delta while block %d is open", i, open)
			}
			delta := d["delta"].(map[string]any)
			m["stop_reason"], m["stop_sequence"], m["usage"] = delta["stop_reason"], delta["stop_sequence"], d["usage"]
			state = "delta"
		case "message_stop":
			if state != "delta" || i != len(events)-1 {
				t.Errorf("event %d of %d: message_stop in state %q", i, len(events), state)
			}
			m["flashlane"] = d["flashlane"]
			state = "stopped"
		default:
			t.Errorf("event %d: %q in state %q", i, e.name, state)
		}
	}
	if state != "stopped" {
		t.Errorf("the stream ends in state %q", state)
	}
	if content == nil {
		content = []any{}
	}
	m["content"] = content
	return m
}

func number(v any) float64 { n, _ := v.(float64); return n }

// cutCall ends inside of a tool call's arguments.
func cutCall(r *intake.Request, out *intake.Output) {
	out.Push(intake.Event{Kind: intake.Accepted})
	out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.ToolStart, Name: "weather"}, {Kind: chat.ToolArgs, Text: `{"city": "Ur`}}})
	report := reportOf(r)
	report.Finish, report.OpenToolCall = intake.FinishLength, true
	out.Push(intake.Event{Kind: intake.Done, Report: report})
}

// TestAnthropicStreamingEqualsWhole, for every kind of answer and of thinking.
func TestAnthropicStreamingEqualsWhole(t *testing.T) {
	all := map[string]func(*intake.Request, *intake.Output){"cut call": cutCall}
	for name, script := range scripts {
		all[name] = script
	}
	for name, script := range all {
		for _, thinking := range []string{`"seed":1`, `"seed":1,"thinking":{"type":"adaptive"}`, `"seed":1,"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted"}`} {
			t.Run(name+" "+thinking, func(t *testing.T) {
				e := newFake()
				e.script = script
				s := testServer(t, e, Options{})
				w := call(s, "POST", "/v1/messages", anthropicBody(thinking))
				if w.Code != 200 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				var want map[string]any
				decode(t, w.Body.String(), &want)
				got := anthropicAnswer(t, parseSSE(t, call(s, "POST", "/v1/messages", anthropicBody(thinking+`,"stream":true`)).Body))
				for _, m := range []map[string]any{want, got} { // what belongs to the request, not to the answer
					delete(m, "id")
					delete(m["flashlane"].(map[string]any), "request_id")
					for _, b := range m["content"].([]any) {
						delete(b.(map[string]any), "id")
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("stream differs from whole (-whole +stream):\n%s", d)
				}
			})
		}
	}
}

// TestThinkingBlocksComeOnlyWhenAsked also looks at what the template is told.
func TestThinkingBlocksComeOnlyWhenAsked(t *testing.T) {
	for fields, want := range map[string]struct {
		types string
		think bool
	}{
		`"seed":1`:                                           {"text", false},
		`"thinking":{"type":"disabled"}`:                     {"text", false},
		`"thinking":{"type":"adaptive"}`:                     {"thinking text", true},
		`"chat_template_kwargs":{"enable_thinking":true}`:    {"text", true}, // it thinks, but was not asked to show it
		`"thinking":{"type":"enabled","budget_tokens":1024}`: {"thinking text", true},
	} {
		e := newFake()
		w := call(testServer(t, e, Options{}), "POST", "/v1/messages", anthropicBody(fields))
		var got struct{ Content []anthropicBlock }
		decode(t, w.Body.String(), &got)
		types := []string{}
		for _, b := range got.Content {
			types = append(types, b.Type)
			if b.Type == "thinking" && (*b.Thinking != "Let me see." || *b.Signature == "") {
				t.Errorf("%s: thinking block %+v", fields, b)
			}
		}
		q := e.last(t)
		if b := q.Budget; strings.Contains(fields, "budget_tokens") != (b != nil) || b != nil && (b.Tokens != 1024 || !slices.Contains(b.End, b.Close)) {
			t.Errorf("%s: got budget %+v", fields, b)
		}
		if joined := strings.Join(types, " "); joined != want.types || e.last(t).Parse.InThink != want.think {
			t.Errorf("%s: blocks %q, in think %v, want %q, %v", fields, joined, e.last(t).Parse.InThink, want.types, want.think)
		}
	}
}

func TestAnthropicStopReasons(t *testing.T) {
	for name, c := range map[string]struct {
		finish   intake.Finish
		stop     string
		reason   string
		sequence any
	}{
		"end":      {intake.FinishStop, "", "end_turn", nil},
		"sequence": {intake.FinishStop, "END", "stop_sequence", "END"},
		"length":   {intake.FinishLength, "", "max_tokens", nil},
		"tools":    {intake.FinishToolCalls, "", "tool_use", nil},
	} {
		e := newFake()
		e.script = func(r *intake.Request, out *intake.Output) {
			report := reportOf(r)
			report.Finish, report.StopString = c.finish, c.stop
			out.Push(intake.Event{Kind: intake.Done, Report: report})
		}
		w := call(testServer(t, e, Options{}), "POST", "/v1/messages", anthropicBody(`"stop_sequences":["END"]`))
		var got map[string]any
		decode(t, w.Body.String(), &got)
		if got["stop_reason"] != c.reason || got["stop_sequence"] != c.sequence {
			t.Errorf("%s: %v, %v, want %s, %v", name, got["stop_reason"], got["stop_sequence"], c.reason, c.sequence)
		}
		if d := cmp.Diff([]string{"END"}, e.last(t).Stop); d != "" {
			t.Errorf("stop strings (-want +got):\n%s", d)
		}
	}
}

// TestAnthropicPromptEqualsChat: the same conversation on both wires comes to the same prompt.
func TestAnthropicPromptEqualsChat(t *testing.T) {
	schema := `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}`
	for name, c := range map[string]struct{ anthropic, chat string }{
		"text":   {`{"max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":"hi"}],"enable_thinking":false}`},
		"system": {`{"max_tokens":5,"system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}]}`, `{"messages":[{"role":"system","content":"a\nb"},{"role":"user","content":"hi"}],"enable_thinking":false}`},
		"tools": {`{"max_tokens":5,"thinking":{"type":"adaptive"},"tools":[{"name":"f","description":"d","input_schema":` + schema + `}],"messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"f","input":{"z":"1","a":2}},{"type":"tool_use","id":"t2","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"two"}]},{"type":"text","text":"so?"}]}]}`,
			`{"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":` + schema + `}}],"messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":"ok","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"z\":\"1\",\"a\":2}"}},{"id":"t2","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"t1","content":"one"},{"role":"tool","tool_call_id":"t2","content":"Error: two"},{"role":"user","content":"so?"}],"enable_thinking":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFake()
			s := testServer(t, e, Options{})
			for _, q := range []struct{ path, body string }{{"/v1/messages", c.anthropic}, {"/v1/chat/completions", c.chat}} {
				if w := call(s, "POST", q.path, q.body); w.Code != 200 {
					t.Fatalf("%s: %d %s", q.path, w.Code, w.Body)
				}
			}
			tok := testModel(t).Tokenizer
			if d := cmp.Diff(tok.Decode(e.requests[1].Prompt, false), tok.Decode(e.requests[0].Prompt, false)); d != "" {
				t.Errorf("prompts differ (-chat +anthropic):\n%s", d)
			}
			if d := cmp.Diff(e.requests[1].Parse, e.requests[0].Parse); d != "" {
				t.Errorf("parser options differ (-chat +anthropic):\n%s", d)
			}
			var in map[string]json.RawMessage
			decode(t, c.anthropic, &in)
			delete(in, "max_tokens")
			body, _ := json.Marshal(in)
			w := call(s, "POST", "/v1/messages/count_tokens", string(body))
			if want := fmt.Sprintf("{\"input_tokens\":%d}\n", len(e.requests[0].Prompt)); w.Body.String() != want {
				t.Errorf("count_tokens: %s, want %s", w.Body, want)
			}
		})
	}
}

func TestAnthropicErrors(t *testing.T) {
	s := testServer(t, newFake(), Options{BodyLimit: 1000})
	for body, c := range map[string]struct {
		status     int
		kind, says string
	}{
		`{`: {400, "invalid_request_error", "not valid JSON"},
		`{"messages":[{"role":"user","content":"hi"}]}`:                                                      {400, "invalid_request_error", "max_tokens"},
		anthropicBody(`"model":"x"`):                                                                         {400, "invalid_request_error", "model"}, // named twice
		`{"model":"claude","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`:                      {404, "not_found_error", "claude"},
		anthropicBody(`"zzz":1`):                                                                             {400, "invalid_request_error", "zzz"},
		anthropicBody(`"thinking":{"type":"enabled","budget_tokens":2000}`):                                  {400, "invalid_request_error", "thinking.budget_tokens"},
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`: {400, "invalid_request_error", "messages[0].content[0].tool_use_id"},
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","y":1}]}]}`:         {400, "invalid_request_error", "messages[0].content[0].y"},
		anthropicBody(`"stop_sequences":["` + strings.Repeat("x", 1000) + `"]`):                              {413, "request_too_large", ""},
	} {
		wantAnthropicError(t, call(s, "POST", "/v1/messages", body), c.status, c.kind, c.says)
	}
	for err, kind := range map[error]string{intake.ErrBusy: "rate_limit_error", intake.ErrClosing: "overloaded_error", intake.ErrCrashed: "api_error", intake.ErrMemory: "overloaded_error"} {
		e := newFake()
		e.script = failing(err, false)
		s := testServer(t, e, Options{})
		wantAnthropicError(t, call(s, "POST", "/v1/messages", anthropicBody(`"stream":true`)), engineError(err, "").status, kind, "")
		e.script = failing(err, true)
		events := parseSSE(t, call(s, "POST", "/v1/messages", anthropicBody(`"stream":true`)).Body)
		last := events[len(events)-1]
		if last.name != "error" || !strings.Contains(last.data, kind) || !strings.Contains(last.data, `"type":"error"`) {
			t.Errorf("%v in mid-stream: last event %+v", err, last)
		}
	}
	keyed := testServer(t, newFake(), Options{Keys: testKeys(t)})
	wantAnthropicError(t, call(keyed, "POST", "/v1/messages", anthropicBody(`"seed":1`)), 401, "authentication_error", "API key")
	if w := call(keyed, "POST", "/v1/messages", anthropicBody(`"seed":1`), "X-Api-Key", "alice-secret", "Anthropic-Version", "2023-06-01"); w.Code != 200 {
		t.Errorf("with x-api-key: %d %s", w.Code, w.Body)
	}
}

func TestModelsOnBothWires(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	var list struct {
		Data    []map[string]any
		HasMore *bool `json:"has_more"`
	}
	decode(t, call(s, "GET", "/v1/models", "", "Anthropic-Version", "2023-06-01").Body.String(), &list)
	want := map[string]any{"type": "model", "id": "nano", "display_name": "nano", "created_at": "2023-11-14T22:13:20Z", "max_input_tokens": 4095.0, "max_tokens": 4095.0}
	if d := cmp.Diff([]map[string]any{want}, list.Data); d != "" || list.HasMore == nil {
		t.Errorf("list (-want +got):\n%s", d)
	}
	var one map[string]any
	decode(t, call(s, "GET", "/v1/models/nano", "", "Anthropic-Version", "2023-06-01").Body.String(), &one)
	if d := cmp.Diff(want, one); d != "" {
		t.Errorf("one (-want +got):\n%s", d)
	}
	wantAnthropicError(t, call(s, "GET", "/v1/models/claude", "", "Anthropic-Version", "2023-06-01"), 404, "not_found_error", "claude")
}

func TestClosing(t *testing.T) {
	for begun, want := range map[string]string{
		``: `{}`, `{`: `}`, `{"a": `: `null}`, `{"a": "x`: `"}`, `{"a": "x\`: `\"}`, `{"a": [1, {"b": "c"`: `}]}`, `{"a"`: `: null}`, `{"a": 1}`: ``, `{"a": "{[`: `"}`,
	} {
		if got := closing(begun); got != want || !json.Valid([]byte(begun+got)) {
			t.Errorf("closing(%q) = %q, want %q", begun, got, want)
		}
	}
}

// TestAnthropicUsage: the prompt in two parts that add up, and pings while nothing comes.
func TestAnthropicUsage(t *testing.T) {
	e := newFake()
	var got struct{ Usage anthropicUsage }
	decode(t, call(testServer(t, e, Options{}), "POST", "/v1/messages", anthropicBody(`"seed":1`)).Body.String(), &got)
	if n := len(e.last(t).Prompt); got.Usage.Input != n-1 || got.Usage.CacheRead != 1 || got.Usage.Output != 9 || got.Usage.OutputHow.Thinking != 3 {
		t.Errorf("usage %+v for a prompt of %d tokens", got.Usage, n)
	}
	w := httptest.NewRecorder()
	out := sse.NewWriter(w, 0)
	(&anthropicWire{}).alive(out, "")
	(&anthropicWire{}).alive(out, " prefill 1/2")
	(&anthropicWire{shown: 1}).alive(out, "")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, e := range parseSSE(t, w.Body) {
		names += e.name + e.comment + ";"
	}
	if want := "keep-alive;keep-alive prefill 1/2;ping;keep-alive;ping;"; names != want {
		t.Errorf("events %q, want %q", names, want)
	}
}
