package server

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server/body"
)

// decoded runs the decoder alone.
func decoded(t *testing.T, m *Model, text string) (*job, error) {
	t.Helper()
	v, err := body.Parse([]byte(text), bodyLimits)
	if err != nil {
		return nil, err
	}
	r, err := body.Read(v, "")
	if err != nil {
		return nil, err
	}
	return decodeChat(r, m, "chatcmpl-1")
}

func mustDecode(t *testing.T, m *Model, text string) *job {
	t.Helper()
	j, err := decoded(t, m, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return j
}

func TestSamplingComesFromThePackThenTheRequest(t *testing.T) {
	m := testModel(t)
	m.Defaults.Repetition = 1.1
	j := mustDecode(t, m, with(`"seed":1`))
	want := m.Defaults
	want.Seed = 1
	if d := cmp.Diff(want, j.request.Sampling); d != "" {
		t.Errorf("nothing named (-want +got):\n%s", d)
	}
	if j.request.Depth != 3 || j.request.Rule != verify.Coupled || j.request.MaxTokens != 4096-len(j.request.Prompt) {
		t.Errorf("depth %d, rule %v, max %d", j.request.Depth, j.request.Rule, j.request.MaxTokens)
	}
	j = mustDecode(t, m, with(`"seed":1,"temperature":0,"top_p":1,"top_k":0,"min_p":0.5,"presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":2,
		"logit_bias":{"7":0.5,"5":-100},"stop":["a","b","a"],"max_tokens":3,"max_completion_tokens":3,"depth":0,"acceptance":"residual","user":"me"`))
	if d := cmp.Diff(sample.Params{Temperature: 0, TopP: 1, TopK: 0, MinP: 0.5, Presence: 1, Frequency: -1, Repetition: 2, Seed: 1,
		Bias: []sample.Bias{{ID: 5, Add: -100}, {ID: 7, Add: 0.5}}}, j.request.Sampling); d != "" {
		t.Errorf("all named (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"a", "b"}, j.request.Stop); d != "" || j.request.MaxTokens != 3 || j.request.Depth != 0 || j.request.Rule != verify.Residual || j.request.Label != "user=me" {
		t.Errorf("stop %q, max %d, depth %d, rule %v, label %q", j.request.Stop, j.request.MaxTokens, j.request.Depth, j.request.Rule, j.request.Label)
	}
}

func TestSeeds(t *testing.T) {
	m := testModel(t)
	for text, want := range map[string]uint64{"0": 0, "5": 5, "-1": math.MaxUint64, "18446744073709551615": math.MaxUint64, "9223372036854775807": math.MaxInt64, "-9223372036854775808": 1 << 63, "3.0": 3} {
		if got := mustDecode(t, m, with(`"seed":`+text)); got.request.Sampling.Seed != want || !got.seedGiven {
			t.Errorf("seed %s: got %d (given %v), want %d", text, got.request.Sampling.Seed, got.seedGiven, want)
		}
	}
	a, b := mustDecode(t, m, chatHi), mustDecode(t, m, with(`"seed":null`))
	if a.request.Sampling.Seed == b.request.Sampling.Seed || a.seedGiven {
		t.Errorf("two fresh seeds: %d and %d, given %v", a.request.Sampling.Seed, b.request.Sampling.Seed, a.seedGiven)
	}
	for range 100 {
		if s := freshSeed(); s >= 1<<53 {
			t.Fatalf("fresh seed %d does not fit a float64", s)
		}
	}
	server := uint64(99)
	m.Seed = &server
	if got := mustDecode(t, m, chatHi).request.Sampling.Seed; got != 99 {
		t.Errorf("the server's seed: got %d, want 99", got)
	}
}

func TestTopPZeroKeepsOneToken(t *testing.T) {
	if got := mustDecode(t, testModel(t), with(`"top_p":0`)).request.Sampling; got.TopP <= 0 || got.TopP > 1e-300 {
		t.Errorf("top_p 0 became %v", got.TopP)
	}
}

func TestMaxTokensIsCappedByContextAndModel(t *testing.T) {
	m := testModel(t)
	m.MaxOutput = 100
	for text, want := range map[string]int{chatHi: 100, with(`"max_tokens":1000000`): 100, with(`"max_completion_tokens":7`): 7} {
		if got := mustDecode(t, m, text).request.MaxTokens; got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

func TestDepthWithoutHead(t *testing.T) {
	m := testModel(t)
	m.Depth, m.MaxDepth = 0, 0
	if got := mustDecode(t, m, with(`"depth":0`)).request.Depth; got != 0 {
		t.Errorf("depth %d", got)
	}
	if _, err := decoded(t, m, with(`"depth":1`)); err == nil {
		t.Error("depth 1 on a pack without a head: got no error")
	}
}

// TestPrompts: what the model reads. The template is nano's own.
func TestPrompts(t *testing.T) {
	tools := `"tools":[{"type":"function","function":{"name":"f","description":"<d>","parameters":{"z":1,"a":2}}}]`
	for name, c := range map[string]struct{ body, want string }{
		"plain":    {chatHi, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"no think": {with(`"enable_thinking":false`), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		"no think by kwargs": {with(`"chat_template_kwargs":{"enable_thinking":false}`),
			"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		"developer is system": {message(`{"role":"developer","content":"be brief"},{"role":"user","content":"hi"}`),
			"<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"parts": {message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`),
			"<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"tool choice none": {with(`"tool_choice":"none",` + tools), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"tool turn": {message(`{"role":"user","content":"hi"},
			{"role":"assistant","content":null,"refusal":null,"annotations":[],"function_call":null,"parsed":null,"tool_calls":[{"id":"c1","index":0,"type":"function","function":{"name":"f","parsed_arguments":null,"arguments":"{\"z\": 1, \"a\": \"<x>\"}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"42"}`),
			"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n<function=f>\n<parameter=z>\n1\n</parameter>\n<parameter=a>\n<x>\n</parameter>\n</function>\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"no arguments": {message(`{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"c1","content":"42"}`),
			"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n"},
		"history with reasoning": {message(`{"role":"user","content":"hi"},{"role":"assistant","content":"ho","reasoning_content":"hm"},{"role":"user","content":"again"}`),
			"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nho<|im_end|>\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n<think>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := testModel(t)
			j := mustDecode(t, m, c.body)
			if d := cmp.Diff(c.want, m.Tokenizer.Decode(j.request.Prompt, false)); d != "" {
				t.Errorf("prompt (-want +got):\n%s", d)
			}
			if want := strings.HasSuffix(c.want, "<think>\n"); j.request.Parse.InThink != want || j.request.Parse.Plain {
				t.Errorf("parser options %+v, want InThink %v", j.request.Parse, want)
			}
		})
	}
	m := testModel(t)
	j := mustDecode(t, m, with(tools))
	if got, want := m.Tokenizer.Decode(j.request.Prompt, false), `{"type": "function", "function": {"name": "f", "description": "<d>", "parameters": {"z": 1, "a": 2}}}`; !strings.Contains(got, want) {
		t.Errorf("prompt %q lacks the tool in its own order, %s", got, want)
	}
}

func TestCompletionPrompts(t *testing.T) {
	m := testModel(t)
	for text, want := range map[string][]int32{`[5,6]`: {5, 6}, `[[5,6]]`: {5, 6}, `"<|im_end|>"`: {8185}, `["<|im_end|>"]`: {8185}, `[5.0]`: {5}} {
		v, err := body.Parse([]byte(`{"prompt":`+text+`}`), bodyLimits)
		if err != nil {
			t.Fatal(err)
		}
		r, err := body.Read(v, "")
		if err != nil {
			t.Fatal(err)
		}
		j, err := decodeCompletion(r, m, "cmpl-1")
		if err != nil {
			t.Fatalf("prompt %s: %v", text, err)
		}
		if d := cmp.Diff(want, j.request.Prompt); d != "" || j.request.MaxTokens != 16 || !j.request.Parse.Plain {
			t.Errorf("prompt %s: max %d, plain %v, ids (-want +got):\n%s", text, j.request.MaxTokens, j.request.Parse.Plain, d)
		}
	}
}

func TestModelNames(t *testing.T) {
	m := testModel(t)
	mustDecode(t, m, with(`"model":"nano"`))
	mustDecode(t, m, with(`"model":null`))
}

func TestModelCheck(t *testing.T) {
	for name, spoil := range map[string]func(*Model){
		"no id":        func(m *Model) { m.ID = "" },
		"no tokenizer": func(m *Model) { m.Tokenizer = nil },
		"no vocab":     func(m *Model) { m.Vocab = nil },
		"no context":   func(m *Model) { m.Context = 1 },
		"depth 8":      func(m *Model) { m.MaxDepth = 8 },
		"depth > most": func(m *Model) { m.Depth, m.MaxDepth = 2, 1 },
		"defaults":     func(m *Model) { m.Defaults.TopP = 2 },
	} {
		m := testModel(t)
		spoil(m)
		if _, err := New(Options{}, newFake(), m); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestNoTemplate(t *testing.T) {
	m := testModel(t)
	m.Template = nil
	s, err := New(Options{}, newFake(), m)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, call(s, "POST", "/v1/chat/completions", chatHi), 400, "no_chat_template", "messages")
	if w := call(s, "POST", "/v1/completions", `{"prompt":"hi"}`); w.Code != 200 {
		t.Errorf("completions without a template: %d %s", w.Code, w.Body)
	}
}
