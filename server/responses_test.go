package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/intake"
)

// responsesAnswer checks the order of events, assembles what the deltas say and returns the final response.
func responsesAnswer(t *testing.T, events []sseEvent) map[string]any {
	t.Helper()
	var final map[string]any
	var open map[string]any
	text, items := "", 0
	stage := ""
	for i, e := range events {
		if e.data == "" {
			continue
		}
		var d map[string]any
		decode(t, e.data, &d)
		if d["type"] != e.name || number(d["sequence_number"]) != float64(i) {
			t.Errorf("event %d: name %q, type %v, sequence_number %v", i, e.name, d["type"], d["sequence_number"])
		}
		if final != nil {
			t.Errorf("event %d: %s after the end", i, e.name)
		}
		index, has := d["output_index"]
		if has && number(index) != float64(items) {
			t.Errorf("event %d: output_index %v, want %d", i, index, items)
		}
		if id, ok := d["item_id"]; ok && (open == nil || id != open["id"]) {
			t.Errorf("event %d: item_id %v, open is %v", i, id, open)
		}
		step := func(from string) {
			if stage != from {
				t.Errorf("event %d: %s after %q, want %q", i, e.name, stage, from)
			}
			stage = e.name
		}
		switch e.name {
		case "response.created":
			step("")
		case "response.in_progress":
			step("response.created")
			stage = "between"
		case "response.output_item.added":
			step("between")
			open = d["item"].(map[string]any)
			text = ""
			if open["type"] == "function_call" {
				stage = "deltas"
			}
		case "response.content_part.added":
			step("response.output_item.added")
			stage = "deltas"
		case "response.output_text.delta", "response.reasoning_text.delta", "response.function_call_arguments.delta":
			step("deltas")
			stage = "deltas"
			text += d["delta"].(string)
		case "response.output_text.done", "response.reasoning_text.done":
			step("deltas")
			if d["text"] != text {
				t.Errorf("event %d: text %v, the deltas were %q", i, d["text"], text)
			}
		case "response.function_call_arguments.done":
			step("deltas")
			if d["arguments"] != text {
				t.Errorf("event %d: arguments %v, the deltas were %q", i, d["arguments"], text)
			}
			stage = "item"
		case "response.content_part.done":
			stage = "item"
		case "response.output_item.done":
			step("item")
			stage, open = "between", nil
			items++
		case "response.completed", "response.incomplete":
			step("between")
			final = d["response"].(map[string]any)
		default:
			t.Errorf("event %d: %s", i, e.name)
		}
	}
	if final == nil || len(final["output"].([]any)) != items {
		t.Fatalf("%d items were done, the end is %v", items, final)
	}
	return final
}

func TestResponsesStreamingEqualsWhole(t *testing.T) {
	all := map[string]func(*intake.Request, *intake.Output){"cut call": cutCall, "spelled": spell(t, spoken), "text around a call": spell(t, spoken+"\n\nAnd more.")}
	for name, script := range scripts {
		all[name] = script
	}
	for name, script := range all {
		for _, fields := range []string{`"seed":1`, `"seed":1,"include":["message.output_text.logprobs"],"top_logprobs":1,"tools":[{"type":"function","name":"f"}]`, `"seed":1,"include":["reasoning.encrypted_content"],"metadata":{"a":"b"},"instructions":"x"`} {
			t.Run(name+" "+fields, func(t *testing.T) {
				e := newFake()
				e.script = script
				s := testServer(t, e, Options{})
				var want map[string]any
				decode(t, call(s, "POST", "/v1/responses", `{"input":"hi",`+fields+`}`).Body.String(), &want)
				got := responsesAnswer(t, parseSSE(t, call(s, "POST", "/v1/responses", `{"input":"hi","stream":true,`+fields+`}`).Body))
				for _, m := range []map[string]any{want, got} {
					for _, name := range []string{"id", "created_at", "completed_at"} {
						delete(m, name)
					}
					delete(m["flashlane"].(map[string]any), "request_id")
					for _, item := range m["output"].([]any) {
						it := item.(map[string]any)
						if !strings.Contains(it["id"].(string), "_") {
							t.Errorf("item id %v", it["id"])
						}
						delete(it, "id")
						delete(it, "call_id")
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("stream differs from whole (-whole +stream):\n%s", d)
				}
			})
		}
	}
}

// TestResponsesPromptEqualsChat: output items of one answer, sent back as input, come to the prompt of the chat route.
func TestResponsesPromptEqualsChat(t *testing.T) {
	tool := `{"type":"object","properties":{"z":{"type":"string"}}}`
	e := newFake()
	s := testServer(t, e, Options{})
	for _, q := range []struct{ path, body string }{
		{"/v1/responses", `{"instructions":"sys","tools":[{"type":"function","name":"f","description":"d","parameters":` + tool + `,"strict":false}],"input":[
			{"role":"user","content":[{"type":"input_text","text":"go"}]},
			{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"status":"completed"},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[],"logprobs":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"z\": \"1\"}","status":"completed"},
			{"type":"function_call_output","call_id":"c1","output":"one"},
			{"type":"reasoning","summary":[],"encrypted_content":"` + seal("again") + `"},
			{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"}]}]}`},
		{"/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":` + tool + `}}],"messages":[{"role":"system","content":"sys"},{"role":"user","content":"go"},
			{"role":"assistant","content":"ok","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"z\": \"1\"}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"one"},
			{"role":"assistant","content":"","reasoning_content":"again","tool_calls":[{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c2","content":"two"}]}`},
	} {
		if w := call(s, "POST", q.path, q.body); w.Code != 200 {
			t.Fatalf("%s: %d %s", q.path, w.Code, w.Body)
		}
	}
	tok := testModel(t).Tokenizer
	if d := cmp.Diff(tok.Decode(e.requests[1].Prompt, false), tok.Decode(e.requests[0].Prompt, false)); d != "" {
		t.Errorf("prompts differ (-chat +responses):\n%s", d)
	}
}

func TestResponsesRefusals(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	for body, c := range map[string]struct{ code, param string }{
		`{}`: {"missing_required_parameter", "input"},
		`{"input":"hi","previous_response_id":"resp_1"}`:                        {"unsupported_parameter", "previous_response_id"},
		`{"input":"hi","store":true}`:                                           {"unsupported_parameter", "store"},
		`{"input":"hi","background":true}`:                                      {"unsupported_parameter", "background"},
		`{"input":"hi","conversation":"conv_1"}`:                                {"unsupported_parameter", "conversation"},
		`{"input":[{"type":"item_reference","id":"x"}]}`:                        {"unsupported_parameter", "input[0].type"},
		`{"input":[{"type":"function_call_output","call_id":"x","output":""}]}`: {"invalid_value", "input[0].call_id"},
		`{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`:        {"unsupported_parameter", "input[0].content[0].type"},
		`{"input":[{"type":"reasoning","encrypted_content":"eA=="}]}`:           {"invalid_value", "input[0].encrypted_content"},
		`{"input":"hi","reasoning":{"effort":"high"}}`:                          {"unsupported_parameter", "reasoning.effort"},
		`{"input":"hi","tools":[{"type":"function","name":"f","strict":1}]}`:    {"invalid_type", "tools[0].strict"},
	} {
		wantError(t, call(s, "POST", "/v1/responses", body), 400, c.code, c.param)
	}
}

func TestResponsesFailure(t *testing.T) {
	e := newFake()
	e.script = failing(intake.ErrCrashed, true)
	events := parseSSE(t, call(testServer(t, e, Options{}), "POST", "/v1/responses", `{"input":"hi","stream":true}`).Body)
	n := len(events)
	if events[n-2].name != "error" || events[n-1].name != "response.failed" || !strings.Contains(events[n-1].data, `"error":{"code":"request_crashed"`) {
		t.Errorf("events %+v", events[n-2:])
	}
}
