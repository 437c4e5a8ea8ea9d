package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
)

// assembled is what a client has in hand in the end, whichever way it came.
type assembled struct {
	ID, Object, Model  string
	Role               string
	Reasoning, Content string
	Calls              []toolCall
	Finish             string
	Usage              *usage
	Flashlane          map[string]any
}

// chatAnswer is the part of both chat objects that clients read.
type chatAnswer struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index   int     `json:"index"`
		Text    string  `json:"text"`
		Finish  *string `json:"finish_reason"`
		Message *struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []toolCall `json:"tool_calls"`
		} `json:"message"`
		Delta *struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []toolCall `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage     *usage         `json:"usage"`
	Flashlane map[string]any `json:"flashlane"`
}

func wholeOf(t *testing.T, data string) assembled {
	t.Helper()
	var a chatAnswer
	decode(t, data, &a)
	c := a.Choices[0]
	out := assembled{ID: a.ID, Object: a.Object, Model: a.Model, Finish: *c.Finish, Usage: a.Usage, Flashlane: a.Flashlane, Content: c.Text}
	if m := c.Message; m != nil {
		out.Role, out.Reasoning, out.Calls = m.Role, m.Reasoning, m.ToolCalls
		if m.Content != nil {
			out.Content = *m.Content
		}
	}
	return out
}

// streamedOf assembles the chunks as the OpenAI SDKs do, and checks what they rely on.
func streamedOf(t *testing.T, data []string, withUsage bool) assembled {
	t.Helper()
	if data[len(data)-1] != "[DONE]" {
		t.Fatalf("the stream ends with %q, want [DONE]", data[len(data)-1])
	}
	data = data[:len(data)-1]
	var out assembled
	for i, d := range data {
		var a chatAnswer
		decode(t, d, &a)
		if i > 0 && (a.ID != out.ID || a.Model != out.Model || a.Object != out.Object) {
			t.Fatalf("chunk %d: id, model or object changed: %s", i, d)
		}
		out.ID, out.Object, out.Model = a.ID, a.Object, a.Model
		if hasUsage := strings.Contains(d, `"usage":`); hasUsage != withUsage {
			t.Errorf("chunk %d: has a usage field: %v, want %v: %s", i, hasUsage, withUsage, d)
		}
		if a.Usage != nil {
			out.Usage = a.Usage
			if i != len(data)-1 || len(a.Choices) != 0 {
				t.Errorf("usage in chunk %d of %d with %d choices, want the last and none", i, len(data), len(a.Choices))
			}
		}
		if a.Flashlane != nil {
			out.Flashlane = a.Flashlane
			if i != len(data)-1 {
				t.Errorf("flashlane object in chunk %d of %d, want the last", i, len(data))
			}
		}
		for _, c := range a.Choices {
			if out.Finish != "" {
				t.Errorf("chunk %d comes after finish_reason: %s", i, d)
			}
			if c.Finish != nil {
				out.Finish = *c.Finish
			}
			out.Content += c.Text
			if c.Delta == nil {
				continue
			}
			out.Role += c.Delta.Role
			out.Reasoning += c.Delta.Reasoning
			if c.Delta.Content != nil {
				out.Content += *c.Delta.Content
			}
			for _, call := range c.Delta.ToolCalls {
				if call.Index == nil {
					t.Fatalf("chunk %d: tool call without index", i)
				}
				if *call.Index == len(out.Calls) {
					out.Calls = append(out.Calls, toolCall{ID: call.ID, Type: call.Type, Function: toolFunction{Name: call.Function.Name}})
				} else if call.ID != "" || call.Function.Name != "" {
					t.Errorf("chunk %d: id or name again: %s", i, d)
				}
				out.Calls[*call.Index].Function.Arguments += call.Function.Arguments
			}
		}
	}
	return out
}

// scripts are answers of every kind.
var scripts = map[string]func(*intake.Request, *intake.Output){
	"reasoning and text": hello,
	"text only": func(r *intake.Request, out *intake.Output) {
		say(r, out, []chat.Delta{{Kind: chat.Content, Text: "a\u2028b😀\x00\"\\/"}})
	},
	"nothing": func(r *intake.Request, out *intake.Output) { say(r, out) },
	"tool calls": func(r *intake.Request, out *intake.Output) {
		out.Push(intake.Event{Kind: intake.Accepted})
		for _, d := range [][]chat.Delta{
			{{Kind: chat.Reasoning, Text: "hm"}, {Kind: chat.ToolStart, Tool: 0, Name: "weather"}, {Kind: chat.ToolArgs, Tool: 0, Text: `{"city":`}},
			{{Kind: chat.ToolArgs, Tool: 0, Text: ` "Ur`}, {Kind: chat.ToolArgs, Tool: 0, Text: `uk"}`}, {Kind: chat.ToolEnd, Tool: 0}},
			{{Kind: chat.ToolStart, Tool: 1, Name: "time"}, {Kind: chat.ToolArgs, Tool: 1, Text: `{}`}, {Kind: chat.ToolEnd, Tool: 1},
				{Kind: chat.ToolStart, Tool: 2, Name: "time"}, {Kind: chat.ToolArgs, Tool: 2, Text: `{"z":1}`}, {Kind: chat.ToolEnd, Tool: 2}},
		} {
			out.Push(intake.Event{Kind: intake.Delta, Deltas: d})
		}
		report := reportOf(r)
		report.Finish = intake.FinishToolCalls
		out.Push(intake.Event{Kind: intake.Done, Report: report})
	},
	"cut by length, digests empty": func(r *intake.Request, out *intake.Output) {
		out.Push(intake.Event{Kind: intake.Accepted})
		report := reportOf(r)
		report.Finish, report.ReasoningSHA, report.TextSHA, report.OpenToolCall = intake.FinishLength, "", "", true
		out.Push(intake.Event{Kind: intake.Done, Report: report})
	},
}

// TestStreamingEqualsWhole: the assembled stream is the whole answer, field by field.
func TestStreamingEqualsWhole(t *testing.T) {
	for name, script := range scripts {
		for _, route := range []struct{ path, with, object, chunk string }{
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`, "chat.completion", "chat.completion.chunk"},
			{"/v1/completions", `"prompt":"hi"`, "text_completion", "text_completion"},
		} {
			for _, withUsage := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/usage=%v", name, route.object, withUsage), func(t *testing.T) {
					e := newFake()
					e.script = script
					s := testServer(t, e, Options{})
					w := call(s, "POST", route.path, `{"seed":5,`+route.with+`}`)
					if w.Code != 200 {
						t.Fatalf("whole: %d %s", w.Code, w.Body)
					}
					want := wholeOf(t, w.Body.String())
					if want.Object != route.object {
						t.Errorf("object %q, want %q", want.Object, route.object)
					}
					w = call(s, "POST", route.path, fmt.Sprintf(`{"seed":5,"stream":true,"stream_options":{"include_usage":%v},%s}`, withUsage, route.with))
					if ct := w.Header().Get("Content-Type"); w.Code != 200 || ct != "text/event-stream" {
						t.Fatalf("stream: %d %s %s", w.Code, ct, w.Body)
					}
					got := streamedOf(t, dataOf(parseSSE(t, w.Body)), withUsage)
					if got.Object != route.chunk {
						t.Errorf("object %q, want %q", got.Object, route.chunk)
					}
					// What belongs to the request, not to the answer.
					got.ID, got.Object, got.Flashlane["request_id"] = want.ID, want.Object, want.Flashlane["request_id"]
					for i := range got.Calls {
						if !regexp.MustCompile(`^call_[0-9a-f]{24}$`).MatchString(got.Calls[i].ID) {
							t.Errorf("tool call id %q", got.Calls[i].ID)
						}
						got.Calls[i].ID = want.Calls[i].ID
					}
					if !withUsage {
						got.Usage = want.Usage
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("stream differs from whole (-whole +stream):\n%s", d)
					}
				})
			}
		}
	}
}

func TestChatCompletionObject(t *testing.T) {
	e := newFake()
	w := call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", with(`"seed":7,"metadata":{"run":"1"},"stop":["END"],"logit_bias":{"5":-100}`))
	var got map[string]any
	decode(t, w.Body.String(), &got)
	id := w.Header().Get("X-Request-Id")
	if got["id"] != id || !regexp.MustCompile(`^chatcmpl-[0-9a-f]{24}$`).MatchString(id) {
		t.Errorf("id %v, X-Request-Id %q, want the same chatcmpl- id", got["id"], id)
	}
	message := got["choices"].([]any)[0].(map[string]any)["message"]
	if d := cmp.Diff(map[string]any{"role": "assistant", "content": "Hello, <wörld> & \"all\"\n", "reasoning_content": "Let me see.", "refusal": nil}, message); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
	prompt := float64(len(e.last(t).Prompt))
	if d := cmp.Diff(map[string]any{"prompt_tokens": prompt, "completion_tokens": 9.0, "total_tokens": prompt + 9, "prompt_tokens_details": map[string]any{"cached_tokens": 1.0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": 3.0, "accepted_prediction_tokens": 5.0, "rejected_prediction_tokens": 4.0}}, got["usage"]); d != "" {
		t.Errorf("usage (-want +got):\n%s", d)
	}
	f := got["flashlane"].(map[string]any)
	replay := f["replay"].(map[string]any)
	delete(f, "replay")
	if d := cmp.Diff(map[string]any{
		"request_id": id, "seed": 7.0, "seed_given": true, "rounds": 4.0, "tokens_per_round": 2.0, "depth": 3.0, "acceptance": "coupled", "exact": true,
		"timings": map[string]any{"queue_ms": 1.0, "prefill_ms": 2.0, "ttft_ms": 4.0, "decode_ms": 8.0, "prefill_tok_s": prompt / 0.002, "decode_tok_s": 1000.0},
		"lanes":   map[string]any{"ple_cached_aux": true, "qsa_pooled_rowsel": false}, "lane_use": map[string]any{"ple_cached_aux": map[string]any{"windows": 5.0, "fail_over": 1.0}},
		"reasoning_sha256": strings.Repeat("a", 64), "text_sha256": strings.Repeat("b", 64), "tokens_sha256": strings.Repeat("c", 64),
		"restarts": 1.0, "device_kind": "cpu/generic/f32", "precision": "exact", "pack_fingerprint": strings.Repeat("f", 64), "metadata": map[string]any{"run": "1"},
	}, f); d != "" {
		t.Errorf("flashlane (-want +got):\n%s", d)
	}
	if replay["temperature"] != 0.6 || replay["seed"] != 7.0 || len(replay["prompt_ids"].([]any)) != int(prompt) {
		t.Errorf("replay %v", replay)
	}
	if strings.Contains(w.Body.String(), `\u003c`) {
		t.Error("HTML is escaped")
	}
}

func TestEmptyDigestsAreMarked(t *testing.T) {
	e := newFake()
	e.script = scripts["cut by length, digests empty"]
	w := call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", chatHi)
	for _, want := range []string{`"reasoning_sha256":{"empty":true}`, `"text_sha256":{"empty":true}`, `"open_tool_call":true`, `"finish_reason":"length"`, `"content":""`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s lacks %s", w.Body, want)
		}
	}
}

func TestReplayRoundTrip(t *testing.T) {
	tools := `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}]`
	body := func(stream string) string {
		return with(`"seed":-3,"temperature":0.25,"top_p":0.5,"top_k":7,"min_p":0.125,"presence_penalty":0.5,"frequency_penalty":-0.5,"repetition_penalty":1.25,` +
			`"logit_bias":{"9":1.5,"5":-100},"stop":["END","###"],"max_tokens":33,"depth":2,"acceptance":"residual","tools":` + tools + stream)
	}
	for name, stream := range map[string]string{"whole": "", "stream": `,"stream":true`, "stream with usage": `,"stream":true,"stream_options":{"include_usage":true}`} {
		t.Run(name, func(t *testing.T) {
			e := newFake()
			w := call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", body(stream))
			saved, err := ReadSaved(w.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if saved.TokensSHA != strings.Repeat("c", 64) || saved.DeviceKind != "cpu/generic/f32" {
				t.Errorf("saved %+v", saved)
			}
			got, err := saved.Replay.Request()
			if err != nil {
				t.Fatal(err)
			}
			want := *e.last(t)
			want.ID, want.Label = got.ID, got.Label
			if d := cmp.Diff(&want, got); d != "" {
				t.Errorf("replayed request differs (-sent +replayed):\n%s", d)
			}
		})
	}
}

func TestReplayRefuses(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "no json": "x", "another answer": `{"id":"1"}`, "another stream": "data: {}\n\ndata: [DONE]\n\n"} {
		if _, err := ReadSaved([]byte(data)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	e := newFake()
	w := call(testServer(t, e, Options{}), "POST", "/v1/completions", `{"prompt":[5,6,7]}`)
	saved, err := ReadSaved(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	changed := saved.Replay
	changed.PromptIDs = []int32{5, 6, 8}
	if _, err := changed.Request(); err == nil {
		t.Error("changed prompt ids: got no error")
	}
	long := saved.Replay
	long.PromptIDs = nil
	if _, err := long.Request(); err == nil {
		t.Error("prompt too long to be kept: got no error")
	}
}

func TestReplayLeavesLongPromptsOut(t *testing.T) {
	e := newFake()
	m := testModel(t)
	m.Context = 20000
	s, err := New(Options{}, e, m)
	if err != nil {
		t.Fatal(err)
	}
	for n, kept := range map[int]bool{maxReplayPrompt: true, maxReplayPrompt + 1: false} {
		w := call(s, "POST", "/v1/completions", `{"prompt":[`+strings.TrimSuffix(strings.Repeat("5,", n), ",")+`]}`)
		var got struct{ Flashlane struct{ Replay Replay } }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		r := got.Flashlane.Replay
		if (len(r.PromptIDs) == n) != kept || r.PromptTokens != n || r.PromptSHA != idsDigest(e.last(t).Prompt) {
			t.Errorf("%d tokens: %d ids kept, prompt_tokens %d, digest %s; want kept %v", n, len(r.PromptIDs), r.PromptTokens, r.PromptSHA, kept)
		}
	}
}
