package server

import (
	"encoding/json"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/server/sse"
)

// chatWire writes chat.completion objects and chat.completion.chunk events.
type chatWire struct {
	job     *job
	choices []chatState
	reports []*intake.Report
}

// chatState is how far one choice has come.
type chatState struct {
	calls int    // tool calls begun
	rater *rater // nil: no logprobs were asked for
}

func newChatWire(j *job) *chatWire {
	w := &chatWire{job: j, choices: make([]chatState, len(j.choices)), reports: make([]*intake.Report, len(j.choices))}
	for i, q := range j.choices {
		if q.Logprobs {
			w.choices[i].rater = newRater(j.model.Tokenizer, q.Parse)
		}
	}
	return w
}

// chatLogprobs is the logprobs object of a choice or chunk.
type chatLogprobs struct {
	Content []tokenProb `json:"content"`
	Refusal []tokenProb `json:"refusal"`
}

// chatHead begins every object of both kinds.
type chatHead struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
}

func (j *job) head(object string) chatHead {
	return chatHead{j.id, object, j.created, j.model.ID, j.model.fingerprint()}
}

type chatChunk struct {
	chatHead
	Choices   []chunkChoice   `json:"choices"`
	Usage     json.RawMessage `json:"usage,omitempty"` // null before the last chunk when usage was asked for
	Flashlane *details        `json:"flashlane,omitempty"`
}

type chunkChoice struct {
	Index    int           `json:"index"`
	Delta    chunkDelta    `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type chunkDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// toolCall is one call; in a stream only its first piece has id, type and name, and every piece has the index.
type toolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

var jsonNull = json.RawMessage("null")

func (w *chatWire) chunk(choice int, delta chunkDelta, finish *string) chatChunk {
	c := chatChunk{chatHead: w.job.head("chat.completion.chunk"), Choices: []chunkChoice{{Index: choice, Delta: delta, Finish: finish}}}
	if w.job.usage {
		c.Usage = jsonNull
	}
	return c
}

func (w *chatWire) begin(out *sse.Writer) {
	empty := ""
	for i := range w.choices {
		out.Data(w.chunk(i, chunkDelta{Role: "assistant", Content: &empty}, nil))
	}
}

func (w *chatWire) alive(out *sse.Writer, progress string) { out.Comment("keep-alive" + progress) }

// event writes one chunk for each run of the same kind; what one round gave of a kind goes out as one piece. The round's
// logprobs go with its first chunk, which is an empty one when its text is held back.
func (w *chatWire) event(out *sse.Writer, choice int, e intake.Event) {
	state := &w.choices[choice]
	var probs *chatLogprobs
	if state.rater != nil {
		if list := state.rater.rate(e.Tokens); len(list) > 0 {
			probs = &chatLogprobs{Content: list}
		}
	}
	give := func(d chunkDelta) {
		c := w.chunk(choice, d, nil)
		c.Choices[0].Logprobs, probs = probs, nil
		out.Data(c)
	}
	for deltas := e.Deltas; len(deltas) > 0; {
		var d chat.Delta
		d, deltas = run(deltas)
		switch text := d.Text; d.Kind {
		case chat.Reasoning:
			if text != "" {
				give(chunkDelta{Reasoning: text})
			}
		case chat.Content:
			if text != "" {
				give(chunkDelta{Content: &text})
			}
		case chat.ToolStart:
			at := state.calls
			state.calls++
			give(chunkDelta{ToolCalls: []toolCall{{Index: &at, ID: callID(w.job.choices[choice].ID, at), Type: "function", Function: toolFunction{Name: d.Name}}}})
		case chat.ToolArgs:
			if at := state.calls - 1; text != "" {
				give(chunkDelta{ToolCalls: []toolCall{{Index: &at, Function: toolFunction{Arguments: text}}}})
			}
		}
	}
	if probs != nil {
		give(chunkDelta{})
	}
}

// run takes the longest beginning of deltas that is one piece of one kind.
func run(deltas []chat.Delta) (joined chat.Delta, rest []chat.Delta) {
	joined, n := deltas[0], 1
	for n < len(deltas) && deltas[n].Kind == joined.Kind && deltas[n].Tool == joined.Tool && joined.Kind != chat.ToolStart {
		joined.Text += deltas[n].Text
		n++
	}
	return joined, deltas[n:]
}

func (w *chatWire) done(out *sse.Writer, choice int, r *intake.Report, last bool) {
	w.reports[choice] = r
	finish := string(r.Finish)
	c := w.chunk(choice, chunkDelta{}, &finish)
	if !last {
		out.Data(c)
		return
	}
	if w.job.usage {
		out.Data(c)
		c = chatChunk{chatHead: c.chatHead, Choices: []chunkChoice{}, Usage: marshalled(usageOf(w.job, w.reports))}
	}
	c.Flashlane = detailsOf(w.job, w.reports)
	out.Data(c)
	out.Text("[DONE]")
}

func (w *chatWire) fail(out *sse.Writer, e *apiError) {
	out.Data(e.body())
	out.Text("[DONE]")
}

type chatCompletion struct {
	chatHead
	Choices   []chatChoice `json:"choices"`
	Usage     *usage       `json:"usage"`
	Flashlane *details     `json:"flashlane"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   string        `json:"finish_reason"`
}

type chatMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"` // null when there are only tool calls
	Reasoning string     `json:"reasoning_content,omitempty"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

func (w *chatWire) whole(all []*collected) any {
	answer := chatCompletion{chatHead: w.job.head("chat.completion")}
	for i, a := range all {
		w.reports[i] = a.report
		m := chatMessage{Role: "assistant", Reasoning: a.reasoning.String()}
		if text := a.content.String(); text != "" || len(a.calls) == 0 {
			m.Content = &text
		}
		for k, call := range a.calls {
			m.ToolCalls = append(m.ToolCalls, toolCall{ID: callID(w.job.choices[i].ID, k), Type: "function",
				Function: toolFunction{Name: call.name, Arguments: call.args.String()}})
		}
		c := chatChoice{Index: i, Message: m, Finish: string(a.report.Finish)}
		if w.choices[i].rater != nil {
			c.Logprobs = &chatLogprobs{Content: w.choices[i].rater.rate(a.tokens)}
		}
		answer.Choices = append(answer.Choices, c)
	}
	answer.Usage, answer.Flashlane = usageOf(w.job, w.reports), detailsOf(w.job, w.reports)
	return answer
}

// marshalled is v as JSON; v is one of our own types, which always marshal.
func marshalled(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("server: " + err.Error())
	}
	return b
}
