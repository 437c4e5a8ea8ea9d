package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
)

// spell gives an answer's own tokens, a few a round, with the text they make: each has a logprob that follows from its
// id and place, as a stand-in for the model's.
func spell(t *testing.T, text string) func(*intake.Request, *intake.Output) {
	m := testModel(t)
	ids, err := m.Tokenizer.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	rated := func(id int32, i int) sample.Token {
		return sample.Token{ID: id, Logprob: -float64(id+1) / 1000, Top: []sample.LogprobEntry{{ID: id, Logprob: -float64(id+1) / 1000}, {ID: int32(i + 300), Logprob: -9}}}
	}
	return func(r *intake.Request, out *intake.Output) {
		out.Push(intake.Event{Kind: intake.Accepted})
		if r.Score {
			var scored []sample.Token
			for i, id := range r.Prompt[1:] {
				scored = append(scored, rated(id, i))
			}
			for part := range slices.Chunk(scored, 3) {
				out.Push(intake.Event{Kind: intake.Scored, Tokens: part})
			}
		}
		report := reportOf(r)
		report.Seed = uint64(r.Sampling.Choice)
		if r.ScoreOnly {
			report.Finish, report.CompletionTokens = intake.FinishLength, 0
			out.Push(intake.Event{Kind: intake.Done, Report: report})
			return
		}
		stream := m.Tokenizer.NewStream()
		parser := chat.NewParser(r.Parse)
		for part := range slices.Chunk(ids, 2+int(r.Sampling.Choice)) {
			e := intake.Event{Kind: intake.Delta}
			for i, id := range part {
				e.Deltas = append(e.Deltas, parser.PushToken(stream.Push(id), m.Tokenizer.Added(id))...)
				if r.Logprobs {
					e.Tokens = append(e.Tokens, rated(id, i))
				}
			}
			out.Push(e)
		}
		out.Push(intake.Event{Kind: intake.Delta, Deltas: parser.Flush()})
		out.Push(intake.Event{Kind: intake.Done, Report: report})
	}
}

const spoken = "Let me <b>think</b>.\n</think>\n\nHällo 😀, wörld!\n\n<tool_call>\n<function=f>\n<parameter=x>\n1 € 😀\n</parameter>\n</function>\n</tool_call><|im_end|>"

// choiceParts is what a client has of every choice, whole or assembled.
type choiceParts struct {
	Text, Reasoning, Args, Finish string
	Tokens                        []tokenProb
	Legacy                        textLogprobs
}

func choicesOf(t *testing.T, data []string) map[int]*choiceParts {
	t.Helper()
	out := map[int]*choiceParts{}
	for _, d := range data {
		if d == "[DONE]" {
			continue
		}
		var a struct {
			Choices []struct {
				Index          int
				Text           string
				Finish         *string `json:"finish_reason"`
				Message, Delta struct {
					Content   *string
					Reasoning string     `json:"reasoning_content"`
					ToolCalls []toolCall `json:"tool_calls"`
				}
				Logprobs *struct {
					Content []tokenProb
					textLogprobs
				}
			}
		}
		decode(t, d, &a)
		for _, c := range a.Choices {
			p := out[c.Index]
			if p == nil {
				p = &choiceParts{}
				out[c.Index] = p
			}
			if c.Finish != nil {
				p.Finish += *c.Finish
			}
			p.Text += c.Text
			for _, m := range []struct {
				Content   *string
				Reasoning string     `json:"reasoning_content"`
				ToolCalls []toolCall `json:"tool_calls"`
			}{c.Message, c.Delta} {
				if m.Content != nil {
					p.Text += *m.Content
				}
				p.Reasoning += m.Reasoning
				for _, call := range m.ToolCalls {
					p.Args += call.Function.Arguments
				}
			}
			if c.Logprobs != nil {
				p.Tokens = append(p.Tokens, c.Logprobs.Content...)
				p.Legacy.add(&c.Logprobs.textLogprobs)
			}
		}
	}
	return out
}

// TestChoicesStreamEqualsWhole: several choices with logprobs, on both OpenAI routes, whole and streamed.
func TestChoicesStreamEqualsWhole(t *testing.T) {
	for _, c := range []struct {
		path, body string
		choices    int
	}{
		{"/v1/chat/completions", `{"seed":1,"n":3,"logprobs":true,"top_logprobs":2,"tools":[` + aTool + `],"messages":[{"role":"user","content":"hi"}]%s}`, 3},
		{"/v1/completions", `{"seed":1,"n":2,"logprobs":2,"prompt":["Hällo 😀","a b c"],"echo":true%s}`, 4},
		{"/v1/completions", `{"seed":1,"logprobs":0,"prompt":[[5,6,7],[8185,9]],"echo":true,"max_tokens":0%s}`, 2},
		{"/v1/completions", `{"seed":1,"prompt":"x","echo":true%s}`, 1},
	} {
		t.Run(c.body, func(t *testing.T) {
			e := newFake()
			e.script = spell(t, spoken)
			s := testServer(t, e, Options{})
			want := choicesOf(t, []string{call(s, "POST", c.path, fmt.Sprintf(c.body, "")).Body.String()})
			got := choicesOf(t, dataOf(parseSSE(t, call(s, "POST", c.path, fmt.Sprintf(c.body, `,"stream":true`)).Body)))
			if len(want) != c.choices {
				t.Fatalf("%d choices, want %d", len(want), c.choices)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("stream differs from whole (-whole +stream):\n%s", d)
			}
		})
	}
}

// TestChoices: every choice is a request of its own with its own noise and id, and the answer counts them together.
func TestChoices(t *testing.T) {
	e := newFake()
	w := call(testServer(t, e, Options{}), "POST", "/v1/completions", `{"seed":9,"n":2,"prompt":["a b","c"],"stop":["x","y"]}`)
	var got struct {
		ID        string
		Usage     usage
		Flashlane details
	}
	decode(t, w.Body.String(), &got)
	ids := map[string]bool{}
	for i, q := range e.requests {
		ids[q.ID] = true
		if q.Sampling.Choice != uint32(i%2) || q.Sampling.Seed != 9 || len(q.Stop) != 2 {
			t.Errorf("request %d: choice %d, seed %d, stop %q", i, q.Sampling.Choice, q.Sampling.Seed, q.Stop)
		}
		if len(q.Prompt) != len(e.requests[i/2*2].Prompt) {
			t.Errorf("request %d has another prompt than its sibling", i)
		}
	}
	if len(ids) != 4 || !ids[got.ID] {
		t.Errorf("ids %v, the answer's is %s", ids, got.ID)
	}
	prompt := len(e.requests[0].Prompt) + len(e.requests[2].Prompt)
	if got.Usage.Prompt != prompt || got.Usage.Completion != 4*9 || got.Usage.Total != prompt+36 || got.Usage.How.Accepted != 20 {
		t.Errorf("usage %+v", got.Usage)
	}
	if len(got.Flashlane.Choices) != 4 || got.Flashlane.Choices[1].Replay.Choice != 1 || got.Flashlane.Choices[3].ID != e.requests[3].ID {
		t.Errorf("details of choices %+v", got.Flashlane.Choices)
	}
}

// TestChatLogprobs: parts, bytes and text of the entries.
func TestChatLogprobs(t *testing.T) {
	e := newFake()
	e.script = spell(t, spoken)
	w := call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", with(`"logprobs":true,"top_logprobs":2,"tools":[`+aTool+`]`))
	if q := e.last(t); !q.Logprobs || !q.Sampling.Logprobs || q.Sampling.TopLogprobs != 2 {
		t.Errorf("request %+v", q.Sampling)
	}
	c := choicesOf(t, []string{w.Body.String()})[0]
	if c.Text != "Hällo 😀, wörld!" || c.Reasoning != "Let me <b>think</b>." || c.Args != `{"x": "1 € 😀"}` {
		t.Fatalf("answer %+v", c)
	}
	var all []byte
	parts := map[string]string{}
	for _, p := range c.Tokens {
		var piece []byte
		for _, b := range p.Bytes {
			piece = append(piece, byte(b))
		}
		all = append(all, piece...)
		parts[p.Part] += string(piece)
		if len(p.Top) != 2 || p.Top[0].Token != p.Token || p.Top[0].Logprob != p.Logprob || p.Logprob >= 0 {
			t.Errorf("entry %+v", p)
		}
	}
	if want := strings.TrimSuffix(spoken, "<|im_end|>"); string(all) != want {
		t.Errorf("bytes %q, want %q", all, want)
	}
	if !strings.HasPrefix(parts["reasoning"], "Let me") || !strings.HasSuffix(parts["reasoning"], "</think>") || strings.TrimSpace(parts["content"]) != c.Text || !strings.HasPrefix(parts["tool_call"], "<tool_call>") {
		t.Errorf("parts %q", parts)
	}
	if off := choicesOf(t, []string{call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", chatHi).Body.String()})[0]; off.Tokens != nil {
		t.Errorf("logprobs that nobody asked for: %v", off.Tokens)
	}
}

// TestScoring: echo, logprobs and max_tokens 0 rate the prompt.
func TestScoring(t *testing.T) {
	e := newFake()
	e.script = spell(t, "never")
	w := call(testServer(t, e, Options{}), "POST", "/v1/completions", `{"prompt":"Hällo 😀 wörld","echo":true,"logprobs":1,"max_tokens":0}`)
	q := e.last(t)
	if !q.Score || !q.ScoreOnly {
		t.Errorf("score %v, only %v", q.Score, q.ScoreOnly)
	}
	c := choicesOf(t, []string{w.Body.String()})[0]
	n := len(q.Prompt)
	if c.Text != "Hällo 😀 wörld" || c.Finish != "length" || len(c.Legacy.Tokens) != n || len(c.Legacy.Probs) != n || len(c.Legacy.Top) != n || len(c.Legacy.Offsets) != n {
		t.Fatalf("%d prompt tokens: %+v", n, c)
	}
	if c.Legacy.Probs[0] != nil || c.Legacy.Top[0] != nil || *c.Legacy.Probs[1] != -float64(q.Prompt[1]+1)/1000 {
		t.Errorf("logprobs %v", c.Legacy.Probs)
	}
	runes := []rune(c.Text)
	for i, at := range c.Legacy.Offsets {
		if tok := c.Legacy.Tokens[i]; !strings.HasPrefix(tok, "bytes:") && !strings.HasPrefix(string(runes[at:]), tok) {
			t.Errorf("token %d %q at offset %d of %q", i, tok, at, c.Text)
		}
	}
}

// TestStopStringIsNotToldByItsTokens: what the stop cut away has no logprobs either.
func TestStopStringIsNotToldByItsTokens(t *testing.T) {
	m := testModel(t)
	ids, err := m.Tokenizer.Encode("one two STOPSIGN")
	if err != nil {
		t.Fatal(err)
	}
	e := newFake()
	e.script = func(r *intake.Request, out *intake.Output) {
		var tokens []sample.Token
		for _, id := range ids {
			tokens = append(tokens, sample.Token{ID: id, Logprob: -1})
		}
		out.Push(intake.Event{Kind: intake.Accepted})
		out.Push(intake.Event{Kind: intake.Delta, Tokens: tokens[:1], Deltas: []chat.Delta{{Kind: chat.Content, Text: "one"}}})
		out.Push(intake.Event{Kind: intake.Delta, Tokens: tokens[1:], Deltas: []chat.Delta{{Kind: chat.Content, Text: " two "}}})
		report := reportOf(r)
		report.StopString = "STOPSIGN"
		out.Push(intake.Event{Kind: intake.Done, Report: report})
	}
	s := testServer(t, e, Options{})
	for _, stream := range []string{"", `,"stream":true`} {
		w := call(s, "POST", "/v1/completions", `{"prompt":"x","logprobs":0,"stop":"STOPSIGN"`+stream+`}`)
		data := []string{w.Body.String()}
		if stream != "" {
			data = dataOf(parseSSE(t, w.Body))
		}
		c := choicesOf(t, data)[0]
		if got := strings.Join(c.Legacy.Tokens, ""); c.Text != "one two " || strings.Contains(got, "STOP") || !strings.HasPrefix("one two ", got) || len(got) < 7 {
			t.Errorf("text %q, tokens %q", c.Text, c.Legacy.Tokens)
		}
	}
}

// TestChoicesFailTogether: one that fails, a client that cancels, or a full house end all of them.
func TestChoicesFailTogether(t *testing.T) {
	e := newFake()
	e.script = func(r *intake.Request, out *intake.Output) {
		if r.Sampling.Choice == 1 {
			failing(intake.ErrCrashed, true)(r, out)
			return
		}
		begun(r, out)
	}
	wantError(t, call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", with(`"n":3`)), 500, "request_crashed", "")
	if got := e.cancelled(); len(got) != 2 || !strings.Contains(got[0], otherFailed) {
		t.Errorf("cancels %v, want those of the two others", got)
	}

	e = newFake()
	e.script = begun
	url, _ := live(t, testServer(t, e, Options{}))
	resp, body := open(t, t.Context(), url, with(`"n":2,"stream":true`))
	id := resp.Header.Get("X-Request-Id")
	if w := call(testServer(t, e, Options{}), "DELETE", "/v1/requests/"+id, ""); w.Code != 200 { // another server knows choice 0 only
		t.Errorf("cancel: %d", w.Code)
	}
	data := dataOf(parseSSE(t, body))
	if last := data[len(data)-2]; !strings.Contains(last, "request_cancelled") {
		t.Errorf("last event %s", last)
	}

	wantError(t, call(testServer(t, newFake(), Options{}), "POST", "/v1/chat/completions", with(`"n":66`)), 429, "queue_full", "") // 2 active, 1 queued, 68 places
	wantError(t, call(testServer(t, newFake(), Options{}), "POST", "/v1/chat/completions", with(`"n":69`)), 400, "invalid_value", "n")
}

// TestCancelOfAGroup reaches choices whose first has ended already.
func TestCancelOfAGroup(t *testing.T) {
	e := newFake()
	e.script = func(r *intake.Request, out *intake.Output) {
		if r.Sampling.Choice == 0 {
			hello(r, out)
			return
		}
		begun(r, out)
	}
	s := testServer(t, e, Options{})
	url, _ := live(t, s)
	resp, body := open(t, t.Context(), url, with(`"n":2,"stream":true`))
	if w := call(s, "DELETE", "/v1/requests/"+resp.Header.Get("X-Request-Id"), ""); w.Code != 200 {
		t.Errorf("cancel: %d %s", w.Code, w.Body)
	}
	_ = parseSSE(t, body)
	found := false
	for _, c := range e.cancelled() {
		found = found || strings.Contains(c, "-1: cancelled over http")
	}
	if !found {
		t.Errorf("cancels %v, want one of the second choice", e.cancelled())
	}
	if w := call(s, "DELETE", "/v1/requests/"+resp.Header.Get("X-Request-Id"), ""); len(s.groups.live) != 0 {
		t.Errorf("the group is kept: %d %v", w.Code, s.groups.live)
	}
}

// TestOneCall: parallel_tool_calls false ends the answer with its first call.
func TestOneCall(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": with(`"parallel_tool_calls":%v,"tools":[` + aTool + `]`),
		"/v1/responses":        `{"input":"hi","parallel_tool_calls":%v,"tools":[{"type":"function","name":"f"}]}`,
		"/v1/messages":         anthropicBody(`"tool_choice":{"type":"auto","disable_parallel_tool_use":%v},"tools":[{"name":"f","input_schema":{}}]`),
	} {
		for _, one := range []bool{true, false} {
			flag := !one
			if path == "/v1/messages" {
				flag = one
			}
			e := newFake()
			if w := call(testServer(t, e, Options{}), "POST", path, fmt.Sprintf(body, flag)); w.Code != 200 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			if q := e.last(t); q.OneCall != one || len(q.StopIDs) > 0 {
				t.Errorf("%s one call %v: got %v, stop ids %v", path, one, q.OneCall, q.StopIDs)
			}
		}
	}
}
