package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/server/body"
)

// fuzzDecoder feeds bodies to one decoder: none makes it panic, what it takes is requests within all limits that can be
// replayed, and what it refuses is a 4xx with a message.
func fuzzDecoder(f *testing.F, decode func(r *body.Reader, m *Model) (*job, error), seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	m := testModel(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var j *job
		v, err := body.Parse(data, bodyLimits)
		var r *body.Reader
		if err == nil {
			r, err = body.Read(v, "")
		}
		if err == nil {
			j, err = decode(r, m)
		}
		if err != nil {
			e := asAPIError(err, "id")
			if e.status < 400 || e.status > 499 || e.message == "" || strings.Contains(e.message, ".go:") {
				t.Fatalf("refusal %v is no 4xx with a message", err)
			}
			if len(marshalled(e.anthropic("id"))) == 0 || len(marshalled(e.body())) == 0 {
				t.Fatal("an empty error object")
			}
			return
		}
		if j == nil {
			return // a decoder that makes no job
		}
		if len(j.choices) < 1 || len(j.choices) > maxChoices || len(j.replays) != len(j.choices) {
			t.Fatalf("%d choices and %d replays", len(j.choices), len(j.replays))
		}
		for i, q := range j.choices {
			if len(q.Prompt) == 0 || len(q.Prompt)+q.MaxTokens > m.Context || (q.MaxTokens < 1 && !q.ScoreOnly) || q.Depth < 0 || q.Depth > 7 || len(q.Stop) > maxStopSequences {
				t.Fatalf("request beyond its limits: %+v", q)
			}
			if err := q.Sampling.ValidateIn(m.Vocab); err != nil {
				t.Fatal(err)
			}
			if _, err := j.replays[i].Request(); err != nil && !errors.Is(err, ErrReplay) {
				t.Fatalf("replay of what was taken: %v", err)
			}
		}
	})
}

func FuzzChatRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) { return decodeChat(r, m, "chatcmpl-1") },
		chatHi, chatHiStream, with(`"seed":-1,"stop":["a"],"logit_bias":{"5":1},"stream":true,"stream_options":{"include_usage":true}`),
		with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"a":[1]}}}],"tool_choice":"auto","parallel_tool_calls":false`), with(`"temperature":1e999`), `{"messages":[]}`,
		message(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":[]}"}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"}]}`),
		with(`"chat_template_kwargs":{"a":{"b":[1,2]}},"metadata":{"a":"b"},"enable_thinking":false,"reasoning_effort":"none"`), "{\"messages\":[{\"role\":\"user\",\"content\":\"\xf0\"}]}",
		with(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"integer","minimum":1},{"$ref":"#/$defs/d"}]}},"$defs":{"d":{"enum":["x",1]}}}}}`),
		with(`"tool_choice":{"type":"function","function":{"name":"f"}},"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"x":{"type":"string"}}}}}]`),
		with(`"n":3,"logprobs":true,"top_logprobs":5,"chat_template_kwargs":{"reasoning_effort":["a"]},"reasoning_effort":"low"`))
}

func FuzzCompletionRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) {
		j, err := decodeCompletion(r, m, "cmpl-1")
		if err != nil {
			return nil, err
		}
		return j.job, nil
	}, `{"prompt":"hi"}`, `{"prompt":[1,2]}`, `{"prompt":["a",[1]],"n":2,"echo":true,"logprobs":3,"max_tokens":0}`, `{"prompt":[[1],[2,3]],"stop":"x","max_completion_tokens":1}`)
}

func FuzzAnthropicRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) {
		j, err := decodeAnthropic(r, m, "msg_1")
		if err != nil {
			return nil, err
		}
		return j.job, nil
	}, anthropicBody(`"seed":1`), anthropicBody(`"thinking":{"type":"enabled","budget_tokens":1024},"system":[{"type":"text","text":"s"}]`),
		`{"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"x"}]}]}]}`)
}

func FuzzCountRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) { _, err := decodeCount(r, m); return nil, err },
		`{"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":2048}}`, `{"system":5}`)
}

func FuzzResponsesRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) {
		j, err := decodeResponses(r, m, "resp_1")
		if err != nil {
			return nil, err
		}
		return j.job, nil
	}, `{"input":"hi"}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}],"tools":[{"type":"function","name":"f"}],"include":["message.output_text.logprobs"],"top_logprobs":2,"reasoning":{"effort":"low"}}`)
}

func FuzzTokenizeRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) { _, err := decodeTokenize(r, m); return nil, err },
		`{"prompt":"hi","parse_special":false,"return_token_strs":true}`, `{"messages":[{"role":"user","content":"hi"}]}`)
}

func FuzzDetokenizeRequest(f *testing.F) {
	fuzzDecoder(f, func(r *body.Reader, m *Model) (*job, error) { _, err := decodeDetokenize(r, m); return nil, err },
		`{"tokens":[1,2,8185],"skip_special_tokens":true}`, `{"tokens":[-1]}`)
}
