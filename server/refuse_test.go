package server

import (
	"fmt"
	"strings"
	"testing"
)

// with puts fields into an otherwise good chat request.
func with(fields string) string {
	return `{"messages":[{"role":"user","content":"hi"}],` + fields + `}`
}

func message(m string) string { return `{"messages":[` + m + `]}` }

func withPrompt(fields string) string { return `{"prompt":"hi",` + fields + `}` }

// TestRefusals: each is answered 4xx in OpenAI's shape and names the field; nothing reaches the engine.
func TestRefusals(t *testing.T) {
	const chat, text = "/v1/chat/completions", "/v1/completions"
	tool := `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`
	long := strings.Repeat("word ", 5000)
	for _, c := range []struct {
		path, body  string
		status      int
		code, param string
	}{
		// JSON itself
		{chat, ``, 400, "invalid_json", ""},
		{chat, `{`, 400, "invalid_json", ""},
		{chat, `[]`, 400, "invalid_type", ""},
		{chat, `"x"`, 400, "invalid_type", ""},
		{chat, `null`, 400, "invalid_type", ""},
		{chat, chatHi + `x`, 400, "invalid_json", ""},
		{chat, with(`"temperature":NaN`), 400, "invalid_json", "temperature"},
		{chat, with(`"temperature":-Infinity`), 400, "invalid_json", "temperature"},
		{chat, with(`"temperature":1,"temperature":1`), 400, "invalid_value", "temperature"},
		{chat, with("\"user\":\"\xff\""), 400, "invalid_json", ""},
		{chat, with(`"metadata":` + strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70)), 400, "invalid_value", strings.TrimSuffix("metadata."+strings.Repeat("a.", 63), ".")},
		// fields of both routes
		{chat, with(`"zzz":1`), 400, "unknown_parameter", "zzz"},
		{text, withPrompt(`"zzz":null`), 400, "unknown_parameter", "zzz"},
		{chat, with(`"model":"gpt-4"`), 404, "model_not_found", "model"},
		{text, withPrompt(`"model":"gpt-4"`), 404, "model_not_found", "model"},
		{chat, with(`"model":1`), 400, "invalid_type", "model"},
		{chat, with(`"model":""`), 404, "model_not_found", "model"},
		{chat, with(`"stream":"yes"`), 400, "invalid_type", "stream"},
		{chat, with(`"stream_options":{"include_usage":true}`), 400, "invalid_value", "stream_options"},
		{chat, with(`"stream":true,"stream_options":{"include_usage":1}`), 400, "invalid_type", "stream_options.include_usage"},
		{chat, with(`"stream":true,"stream_options":{"x":1}`), 400, "unknown_parameter", "stream_options.x"},
		{chat, with(`"stream":true,"stream_options":[]`), 400, "invalid_type", "stream_options"},
		{chat, with(`"max_tokens":0`), 400, "invalid_value", "max_tokens"},
		{chat, with(`"max_tokens":-1`), 400, "invalid_value", "max_tokens"},
		{chat, with(`"max_tokens":1.5`), 400, "invalid_value", "max_tokens"},
		{chat, with(`"max_tokens":"5"`), 400, "invalid_type", "max_tokens"},
		{chat, with(`"max_tokens":99999999999`), 400, "invalid_value", "max_tokens"},
		{chat, with(`"max_tokens":5,"max_completion_tokens":6`), 400, "invalid_value", "max_tokens"},
		{chat, with(`"temperature":-0.1`), 400, "invalid_value", "temperature"},
		{chat, with(`"temperature":2.1`), 400, "invalid_value", "temperature"},
		{chat, with(`"temperature":1e999`), 400, "invalid_value", "temperature"},
		{chat, with(`"temperature":"hot"`), 400, "invalid_type", "temperature"},
		{chat, with(`"top_p":1.1`), 400, "invalid_value", "top_p"},
		{chat, with(`"top_p":-1`), 400, "invalid_value", "top_p"},
		{chat, with(`"top_k":-1`), 400, "invalid_value", "top_k"},
		{chat, with(`"top_k":2.5`), 400, "invalid_value", "top_k"},
		{chat, with(`"min_p":1.5`), 400, "invalid_value", "min_p"},
		{chat, with(`"presence_penalty":2.5`), 400, "invalid_value", "presence_penalty"},
		{chat, with(`"frequency_penalty":-2.5`), 400, "invalid_value", "frequency_penalty"},
		{chat, with(`"repetition_penalty":0`), 400, "invalid_value", "repetition_penalty"},
		{chat, with(`"repetition_penalty":-1`), 400, "invalid_value", "repetition_penalty"},
		{chat, with(`"seed":1.5`), 400, "invalid_value", "seed"},
		{chat, with(`"seed":"1"`), 400, "invalid_type", "seed"},
		{chat, with(`"seed":18446744073709551616`), 400, "invalid_value", "seed"},
		{chat, with(`"stop":5`), 400, "invalid_type", "stop"},
		{chat, with(`"stop":""`), 400, "invalid_value", "stop"},
		{chat, with(`"stop":["a",""]`), 400, "invalid_value", "stop[1]"},
		{chat, with(`"stop":["a",null]`), 400, "invalid_type", "stop[1]"},
		{chat, with(`"stop":["a","b","c","d","e"]`), 400, "invalid_value", "stop"},
		{chat, with(`"stop":"` + strings.Repeat("x", 1025) + `"`), 400, "invalid_value", "stop"},
		{chat, with(`"logit_bias":[1]`), 400, "invalid_type", "logit_bias"},
		{chat, with(`"logit_bias":{"x":1}`), 400, "invalid_value", "logit_bias.x"},
		{chat, with(`"logit_bias":{"-1":1}`), 400, "invalid_value", "logit_bias.-1"},
		{chat, with(`"logit_bias":{"8192":1}`), 400, "invalid_value", "logit_bias.8192"},
		{chat, with(`"logit_bias":{"5":101}`), 400, "invalid_value", "logit_bias.5"},
		{chat, with(`"logit_bias":{"5":"1"}`), 400, "invalid_type", "logit_bias.5"},
		{chat, with(`"logit_bias":{"5":1,"05":2}`), 400, "invalid_value", "logit_bias.05"},
		{chat, with(`"depth":8`), 400, "invalid_value", "depth"},
		{chat, with(`"depth":-1`), 400, "invalid_value", "depth"},
		{chat, with(`"acceptance":"greedy"`), 400, "invalid_value", "acceptance"},
		{chat, with(`"acceptance":1`), 400, "invalid_type", "acceptance"},
		{chat, with(`"user":1`), 400, "invalid_type", "user"},
		{chat, with(`"metadata":{"a":1}`), 400, "invalid_type", "metadata.a"},
		{chat, with(`"metadata":"x"`), 400, "invalid_type", "metadata"},
		// messages
		{chat, `{}`, 400, "missing_required_parameter", "messages"},
		{chat, `{"messages":null}`, 400, "missing_required_parameter", "messages"},
		{chat, `{"messages":[]}`, 400, "invalid_value", "messages"},
		{chat, `{"messages":"hi"}`, 400, "invalid_type", "messages"},
		{chat, `{"messages":["hi"]}`, 400, "invalid_type", "messages[0]"},
		{chat, message(`{"content":"hi"}`), 400, "missing_required_parameter", "messages[0].role"},
		{chat, message(`{"role":"robot","content":"hi"}`), 400, "invalid_value", "messages[0].role"},
		{chat, message(`{"role":"function","name":"f","content":"hi"}`), 400, "unsupported_parameter", "messages[0].role"},
		{chat, message(`{"role":"user"}`), 400, "missing_required_parameter", "messages[0].content"},
		{chat, message(`{"role":"user","content":5}`), 400, "invalid_type", "messages[0].content"},
		{chat, message(`{"role":"user","content":"hi","weight":1}`), 400, "unknown_parameter", "messages[0].weight"},
		{chat, message(`{"role":"user","content":"hi","tool_calls":[]}`), 400, "unknown_parameter", "messages[0].tool_calls"},
		{chat, message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x"}}]}`), 400, "unsupported_parameter", "messages[0].content[0].type"},
		{chat, message(`{"role":"user","content":[{"type":"input_audio"}]}`), 400, "unsupported_parameter", "messages[0].content[0].type"},
		{chat, message(`{"role":"user","content":[{"text":"x"}]}`), 400, "missing_required_parameter", "messages[0].content[0].type"},
		{chat, message(`{"role":"user","content":[{"type":"text"}]}`), 400, "missing_required_parameter", "messages[0].content[0].text"},
		{chat, message(`{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}`), 400, "unknown_parameter", "messages[0].content[0].cache_control"},
		{chat, message(`{"role":"user","content":["x"]}`), 400, "invalid_type", "messages[0].content[0]"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant"}`), 400, "missing_required_parameter", "messages[1].content"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`), 400, "missing_required_parameter", "messages[1].tool_calls[0].id"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"custom","function":{"name":"f","arguments":"{}"}}]}`), 400, "unsupported_parameter", "messages[1].tool_calls[0].type"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function"}]}`), 400, "missing_required_parameter", "messages[1].tool_calls[0].function"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{"}}]}`), 400, "invalid_value", "messages[1].tool_calls[0].function.arguments"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}`), 400, "invalid_value", "messages[1].tool_calls[0].function.arguments"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{}}}]}`), 400, "invalid_type", "messages[1].tool_calls[0].function.arguments"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"assistant","content":"x","audio":{"id":"1"}}`), 400, "unsupported_parameter", "messages[1].audio"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"tool","content":"x"}`), 400, "missing_required_parameter", "messages[1].tool_call_id"},
		{chat, message(`{"role":"user","content":"hi"},{"role":"system","content":"late"}`), 400, "chat_template", "messages"},
		{chat, message(`{"role":"user","content":"` + long + `"}`), 400, "context_length_exceeded", "messages"},
		// tools
		{chat, with(`"tools":{}`), 400, "invalid_type", "tools"},
		{chat, with(`"tools":[1]`), 400, "invalid_type", "tools[0]"},
		{chat, with(`"tools":[{"function":{"name":"f"}}]`), 400, "missing_required_parameter", "tools[0].type"},
		{chat, with(`"tools":[{"type":"web_search"}]`), 400, "unsupported_parameter", "tools[0].type"},
		{chat, with(`"tools":[{"type":"function"}]`), 400, "missing_required_parameter", "tools[0].function"},
		{chat, with(`"tools":[{"type":"function","function":{}}]`), 400, "missing_required_parameter", "tools[0].function.name"},
		{chat, with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), 400, "invalid_value", "tools[0].function.name"},
		{chat, with(`"tools":[{"type":"function","function":{"name":"f","strict":1}}]`), 400, "invalid_type", "tools[0].function.strict"},
		{chat, with(`"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"x":{"type":"string","pattern":"a"}}}}}]`), 400, "unsupported_parameter", "tools"},
		{chat, with(`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`), 400, "invalid_type", "tools[0].function.parameters"},
		{chat, with(`"tools":[{"type":"function","function":{"name":"f","x":1}}]`), 400, "unknown_parameter", "tools[0].function.x"},
		{chat, with(`"tools":[` + tool + `,` + tool + `]`), 400, "invalid_value", "tools[1].function.name"},
		{chat, with(`"tool_choice":"required"`), 400, "invalid_value", "tool_choice"},
		{chat, with(`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"g"}}`), 400, "invalid_value", "tool_choice"},
		{chat, with(`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"f"}`), 400, "missing_required_parameter", "tool_choice.function"},
		{chat, with(`"tools":[` + tool + `],"tool_choice":{"type":"allowed_tools"}`), 400, "unsupported_parameter", "tool_choice.type"},
		{chat, with(`"response_format":{"type":"xml"}`), 400, "invalid_value", "response_format.type"},
		{chat, with(`"response_format":{"type":"json_schema"}`), 400, "missing_required_parameter", "response_format.json_schema"},
		{chat, with(`"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`), 400, "missing_required_parameter", "response_format.json_schema.schema"},
		{chat, with(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string","pattern":"a"}}}`), 400, "unsupported_parameter", "response_format.json_schema.schema"},
		{chat, with(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":5}}}`), 400, "invalid_value", "response_format.json_schema.schema"},
		{chat, with(`"tools":[` + tool + `],"response_format":{"type":"json_object"}`), 400, "unsupported_parameter", "response_format"},
		{chat, with(`"tool_choice":"maybe"`), 400, "invalid_value", "tool_choice"},
		// template
		{chat, with(`"enable_thinking":"no"`), 400, "invalid_type", "enable_thinking"},
		{chat, with(`"chat_template_kwargs":[]`), 400, "invalid_type", "chat_template_kwargs"},
		{chat, with(`"chat_template_kwargs":{"messages":[]}`), 400, "invalid_value", "chat_template_kwargs.messages"},
		{chat, with(`"chat_template_kwargs":{"enable_thinking":"x"}`), 400, "invalid_type", "chat_template_kwargs.enable_thinking"},
		{chat, with(`"enable_thinking":true,"chat_template_kwargs":{"enable_thinking":false}`), 400, "invalid_value", "enable_thinking"},
		// completions
		{text, `{}`, 400, "missing_required_parameter", "prompt"},
		{text, `{"prompt":5}`, 400, "invalid_type", "prompt"},
		{text, `{"prompt":""}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":[]}`, 400, "invalid_value", "prompt"},
		{text, `{"prompt":["a",5]}`, 400, "invalid_type", "prompt[1]"},
		{text, `{"prompt":["a",""]}`, 400, "invalid_value", "prompt[1]"},
		{text, `{"prompt":["a","b"],"n":65}`, 400, "invalid_value", "n"},
		{text, withPrompt(`"n":69`), 400, "invalid_value", "n"},
		{text, withPrompt(`"max_tokens":0`), 400, "invalid_value", "max_tokens"},
		{text, withPrompt(`"logprobs":true`), 400, "invalid_type", "logprobs"},
		{text, withPrompt(`"logprobs":21`), 400, "invalid_value", "logprobs"},
		{text, withPrompt(`"echo":1`), 400, "invalid_type", "echo"},
		{chat, with(`"n":0`), 400, "invalid_value", "n"},
		{chat, with(`"n":129`), 400, "invalid_value", "n"},
		{chat, with(`"logprobs":5`), 400, "invalid_type", "logprobs"},
		{chat, with(`"top_logprobs":5`), 400, "invalid_value", "top_logprobs"},
		{chat, with(`"logprobs":true,"top_logprobs":21`), 400, "invalid_value", "top_logprobs"},
		{chat, with(`"reasoning_effort":"high"`), 400, "unsupported_parameter", "reasoning_effort"},
		{chat, with(`"reasoning_effort":"much"`), 400, "invalid_value", "reasoning_effort"},
		{chat, with(`"reasoning_effort":"none","enable_thinking":true`), 400, "invalid_value", "reasoning_effort"},
		{chat, with(`"parallel_tool_calls":1`), 400, "invalid_type", "parallel_tool_calls"},
		{text, `{"prompt":[["a"]]}`, 400, "invalid_type", "prompt[0][0]"},
		{text, `{"prompt":[[]]}`, 400, "invalid_value", "prompt[0]"},
		{text, `{"prompt":[1,"a"]}`, 400, "invalid_type", "prompt[1]"},
		{text, `{"prompt":[1,-1]}`, 400, "invalid_value", "prompt[1]"},
		{text, `{"prompt":[1,8192]}`, 400, "invalid_value", "prompt[1]"},
		{text, `{"prompt":[1.5]}`, 400, "invalid_value", "prompt[0]"},
		{text, `{"prompt":"` + long + `"}`, 400, "context_length_exceeded", "prompt"},
		{text, withPrompt(`"messages":[]`), 400, "unsupported_parameter", "messages"},
		{text, withPrompt(`"tools":[` + tool + `]`), 400, "unsupported_parameter", "tools"},
	} {
		name := c.body
		if len(name) > 80 {
			name = name[:80]
		}
		t.Run(c.path+" "+name, func(t *testing.T) {
			e := newFake()
			w := call(testServer(t, e, Options{}), "POST", c.path, c.body)
			if message := wantError(t, w, c.status, c.code, c.param); message == "" {
				t.Error("the message is empty")
			}
			if len(e.requests) != 0 {
				t.Error("the request reached the engine")
			}
			if id := w.Header().Get("X-Request-Id"); id == "" {
				t.Error("no X-Request-Id")
			}
		})
	}
}

// TestFixedFields: each field of the tables is taken with the values listed and with null, and refused by name otherwise.
func TestFixedFields(t *testing.T) {
	for _, route := range []struct {
		path  string
		with  func(string) string
		table []fixed
	}{{"/v1/chat/completions", with, chatFixed}, {"/v1/completions", withPrompt, completionFixed}} {
		for _, f := range route.table {
			for _, value := range append([]string{"null"}, f.takes...) {
				w := call(testServer(t, newFake(), Options{}), "POST", route.path, route.with(fmt.Sprintf(`%q: %s`, f.field, value)))
				if w.Code != 200 {
					t.Errorf("%s with %s %s: got %d %s, want 200", route.path, f.field, value, w.Code, w.Body)
				}
			}
			w := call(testServer(t, newFake(), Options{}), "POST", route.path, route.with(fmt.Sprintf(`%q: {"other": 1}`, f.field)))
			message := wantError(t, w, 400, "unsupported_parameter", f.field)
			if f.hint != "" && !strings.Contains(message, f.hint) {
				t.Errorf("%s: message %q lacks the hint %q", f.field, message, f.hint)
			}
		}
	}
}

func TestTooLongSaysNumbers(t *testing.T) {
	w := call(testServer(t, newFake(), Options{}), "POST", "/v1/completions", `{"prompt":[`+strings.TrimSuffix(strings.Repeat("5,", 4096), ",")+`]}`)
	message := wantError(t, w, 400, "context_length_exceeded", "prompt")
	if strings.Count(message, "4096") != 2 {
		t.Errorf("message %q lacks the numbers", message)
	}
	w = call(testServer(t, newFake(), Options{}), "POST", "/v1/completions", `{"prompt":[`+strings.TrimSuffix(strings.Repeat("5,", 4095), ",")+`]}`)
	if w.Code != 200 {
		t.Errorf("a prompt of 4095 tokens in a context of 4096: got %d %s", w.Code, w.Body)
	}
}

func TestBodyTooLarge(t *testing.T) {
	s := testServer(t, newFake(), Options{BodyLimit: 100})
	wantError(t, call(s, "POST", "/v1/chat/completions", with(`"user":"`+strings.Repeat("x", 100)+`"`)), 413, "body_too_large", "")
	if w := call(s, "POST", "/v1/chat/completions", chatHi); w.Code != 200 {
		t.Errorf("after a refusal: got %d %s", w.Code, w.Body)
	}
}
