package server

import (
	"strings"
	"time"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/server/sse"
)

// responsesWire writes response objects and the events of the responses route. Every event has the next sequence number;
// every output item is added, filled and done before the next one begins.
type responsesWire struct {
	job   *responsesJob
	parts parts
	rater *rater
	probs []tokenProb // of the text part being written
	seq   int
	open  bool // the last item has not been done
	items []outputItem
}

func newResponsesWire(j *responsesJob) *responsesWire {
	w := &responsesWire{job: j}
	if j.rated {
		w.rater = newRater(j.model.Tokenizer, j.request.Parse)
	}
	return w
}

type response struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created_at"`
	Completed   *int64          `json:"completed_at"`
	Status      string          `json:"status"`
	Background  bool            `json:"background"`
	Error       *responseError  `json:"error"`
	Incomplete  *incomplete     `json:"incomplete_details"`
	Model       string          `json:"model"`
	Output      []outputItem    `json:"output"`
	Previous    *string         `json:"previous_response_id"`
	ServiceTier string          `json:"service_tier"`
	Store       bool            `json:"store"`
	Truncation  string          `json:"truncation"`
	Usage       *responsesUsage `json:"usage"`
	Flashlane   *details        `json:"flashlane,omitempty"`
	responsesEcho
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type responsesUsage struct {
	Input     int         `json:"input_tokens"`
	InputHow  promptUsage `json:"input_tokens_details"`
	Output    int         `json:"output_tokens"`
	OutputHow struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// outputItem is a reasoning, message or function_call item; which fields it has depends on its type.
type outputItem struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Status    string        `json:"status"`
	Role      string        `json:"role,omitempty"`
	Summary   *[]string     `json:"summary,omitempty"` // of reasoning: always empty
	Content   *[]outputPart `json:"content,omitempty"`
	Sealed    string        `json:"encrypted_content,omitempty"`
	CallID    string        `json:"call_id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Arguments *string       `json:"arguments,omitempty"`
}

// outputPart is text of a message, or of a reasoning item.
type outputPart struct {
	Type        string       `json:"type"`
	Text        string       `json:"text"`
	Annotations *[]string    `json:"annotations,omitempty"` // of output_text: always empty
	Logprobs    *[]tokenProb `json:"logprobs,omitempty"`
}

// responseEvent is every event of the stream; which fields it has depends on its type.
type responseEvent struct {
	Type     string       `json:"type"`
	Sequence int          `json:"sequence_number"`
	Response *response    `json:"response,omitempty"`
	ItemID   string       `json:"item_id,omitempty"`
	Output   *int         `json:"output_index,omitempty"`
	Content  *int         `json:"content_index,omitempty"`
	Item     *outputItem  `json:"item,omitempty"`
	Part     *outputPart  `json:"part,omitempty"`
	Delta    *string      `json:"delta,omitempty"`
	Text     *string      `json:"text,omitempty"`
	Name     string       `json:"name,omitempty"`
	Args     *string      `json:"arguments,omitempty"`
	Logprobs *[]tokenProb `json:"logprobs,omitempty"`
}

// responseFailure is the error event.
type responseFailure struct {
	Type     string  `json:"type"`
	Sequence int     `json:"sequence_number"`
	Code     string  `json:"code"`
	Message  string  `json:"message"`
	Param    *string `json:"param"`
}

func (w *responsesWire) send(out *sse.Writer, e responseEvent) {
	e.Sequence = w.seq
	w.seq++
	out.Event(e.Type, e)
}

// object is the response as it stands.
func (w *responsesWire) object(status string) *response {
	return &response{ID: w.job.id, Object: "response", Created: w.job.created, Status: status, Model: w.job.model.ID,
		Output: append([]outputItem{}, w.items...), ServiceTier: "default", Truncation: "disabled", responsesEcho: w.job.echo}
}

func (w *responsesWire) begin(out *sse.Writer) {
	w.send(out, responseEvent{Type: "response.created", Response: w.object("in_progress")})
	w.send(out, responseEvent{Type: "response.in_progress", Response: w.object("in_progress")})
}

func (w *responsesWire) alive(out *sse.Writer, progress string) { out.Comment("keep-alive" + progress) }

func (w *responsesWire) event(out *sse.Writer, _ int, e intake.Event) {
	fresh := w.rate(e.Tokens)
	for deltas := e.Deltas; len(deltas) > 0; {
		var d chat.Delta
		d, deltas = run(deltas)
		previous := w.last()
		at, opened := w.parts.add(d)
		if opened {
			w.stop(out, previous, false)
			w.start(out, at)
		}
		if at == nil || d.Text == "" {
			continue
		}
		given := []tokenProb{}
		if at.kind == chat.Content {
			given, fresh = append(given, fresh...), nil
			w.probs = append(w.probs, given...)
		}
		w.piece(out, at.kind, d.Text, given)
	}
	w.probs = append(w.probs, fresh...) // of text held back: told with the end of the part
}

// rate gives the entries of the tokens of text; reasoning and calls have no place for theirs on this wire.
func (w *responsesWire) rate(tokens []sample.Token) []tokenProb {
	if w.rater == nil {
		return nil
	}
	var out []tokenProb
	for _, p := range w.rater.rate(tokens) {
		if p.Part == "content" {
			p.Part = ""
			out = append(out, p)
		}
	}
	return out
}

func (w *responsesWire) last() *part {
	if n := len(w.parts.list); n > 0 {
		return w.parts.list[n-1]
	}
	return nil
}

// item is part i as an output item.
func (w *responsesWire) item(p *part, i int, status string, probs []tokenProb) outputItem {
	text := p.text.String()
	tail := strings.TrimPrefix(callID(w.job.id, i), "call_")
	switch p.kind {
	case chat.Reasoning:
		it := outputItem{Type: "reasoning", ID: "rs_" + tail, Status: status, Summary: &[]string{}, Content: &[]outputPart{}}
		if status != "in_progress" {
			it.Content = &[]outputPart{reasoningPart(text)}
			if w.job.sealed {
				it.Sealed = seal(text)
			}
		}
		return it
	case chat.ToolStart:
		if status == "in_progress" {
			text = ""
		}
		return outputItem{Type: "function_call", ID: "fc_" + tail, Status: status, CallID: "call_" + tail, Name: p.name, Arguments: &text}
	}
	it := outputItem{Type: "message", ID: "msg_" + tail, Status: status, Role: "assistant", Content: &[]outputPart{}}
	if status != "in_progress" {
		it.Content = &[]outputPart{textPart(text, probs)}
	}
	return it
}

func reasoningPart(text string) outputPart { return outputPart{Type: "reasoning_text", Text: text} }

func textPart(text string, probs []tokenProb) outputPart {
	list := append([]tokenProb{}, probs...)
	return outputPart{Type: "output_text", Text: text, Annotations: &[]string{}, Logprobs: &list}
}

// start adds an item.
func (w *responsesWire) start(out *sse.Writer, p *part) {
	i, zero := len(w.items), 0
	it := w.item(p, i, "in_progress", nil)
	w.items = append(w.items, it)
	w.open = true
	w.send(out, responseEvent{Type: "response.output_item.added", Output: &i, Item: &it})
	if p.kind == chat.ToolStart {
		return
	}
	empty := textPart("", nil)
	if p.kind == chat.Reasoning {
		empty = reasoningPart("")
	} else {
		w.probs = nil
	}
	w.send(out, responseEvent{Type: "response.content_part.added", ItemID: it.ID, Output: &i, Content: &zero, Part: &empty})
}

// piece adds to the open item.
func (w *responsesWire) piece(out *sse.Writer, kind chat.DeltaKind, text string, probs []tokenProb) {
	i, zero := len(w.items)-1, 0
	e := responseEvent{Type: "response.output_text.delta", ItemID: w.items[i].ID, Output: &i, Content: &zero, Delta: &text, Logprobs: &probs}
	switch kind {
	case chat.Reasoning:
		e.Type, e.Logprobs = "response.reasoning_text.delta", nil
	case chat.ToolStart:
		e.Type, e.Logprobs, e.Content = "response.function_call_arguments.delta", nil, nil
	}
	w.send(out, e)
}

// itemStatus is how an item ended; cut says that the length limit ended the answer in it.
func itemStatus(p *part, cut bool) string {
	if cut || (p.kind == chat.ToolStart && !p.whole) {
		return "incomplete"
	}
	return "completed"
}

// stop ends the open item, if there is one.
func (w *responsesWire) stop(out *sse.Writer, p *part, cut bool) {
	if !w.open {
		return
	}
	w.open = false
	i, zero := len(w.items)-1, 0
	it := w.item(p, i, itemStatus(p, cut), w.probs)
	w.items[i] = it
	text := p.text.String()
	switch p.kind {
	case chat.ToolStart:
		w.send(out, responseEvent{Type: "response.function_call_arguments.done", ItemID: it.ID, Output: &i, Name: p.name, Args: &text})
	case chat.Reasoning:
		w.send(out, responseEvent{Type: "response.reasoning_text.done", ItemID: it.ID, Output: &i, Content: &zero, Text: &text})
		w.send(out, responseEvent{Type: "response.content_part.done", ItemID: it.ID, Output: &i, Content: &zero, Part: &(*it.Content)[0]})
	default:
		part := &(*it.Content)[0]
		w.send(out, responseEvent{Type: "response.output_text.done", ItemID: it.ID, Output: &i, Content: &zero, Text: &text, Logprobs: part.Logprobs})
		w.send(out, responseEvent{Type: "response.content_part.done", ItemID: it.ID, Output: &i, Content: &zero, Part: part})
	}
	w.send(out, responseEvent{Type: "response.output_item.done", Output: &i, Item: &it})
}

func (w *responsesWire) done(out *sse.Writer, _ int, r *intake.Report, _ bool) {
	w.stop(out, w.last(), r.Finish == intake.FinishLength)
	o := w.finished(r)
	w.send(out, responseEvent{Type: "response." + o.Status, Response: o})
}

// finished is the response at its end.
func (w *responsesWire) finished(r *intake.Report) *response {
	o := w.object("completed")
	now := time.Now().Unix()
	o.Completed = &now
	if r.Finish == intake.FinishLength {
		o.Status, o.Completed, o.Incomplete = "incomplete", nil, &incomplete{"max_output_tokens"}
	}
	o.Usage = &responsesUsage{Input: r.PromptTokens, Output: r.CompletionTokens, Total: r.PromptTokens + r.CompletionTokens}
	o.Usage.InputHow.Cached, o.Usage.OutputHow.Reasoning = r.CachedTokens, r.ReasoningTokens
	o.Flashlane = detailsOf(w.job.job, []*intake.Report{r})
	return o
}

// fail ends the stream with an error event, and with a failed response if one was created.
func (w *responsesWire) fail(out *sse.Writer, e *apiError) {
	out.Event("error", responseFailure{"error", w.seq, e.code, e.message, optional(e.param)})
	w.seq++
	if w.seq > 1 {
		o := w.object("failed")
		o.Error = &responseError{e.code, e.message}
		w.send(out, responseEvent{Type: "response.failed", Response: o})
	}
}

// whole is what the events of a stream would have come to.
func (w *responsesWire) whole(all []*collected) any {
	out := sse.Discard()
	for _, e := range all[0].rounds {
		w.event(out, 0, e)
	}
	r := all[0].report
	w.stop(out, w.last(), r.Finish == intake.FinishLength)
	return w.finished(r)
}
