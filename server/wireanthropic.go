package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/server/sse"
)

// anthropicWire writes Anthropic messages and their events: message_start, ping, for every block content_block_start,
// deltas and content_block_stop, then message_delta and message_stop.
type anthropicWire struct {
	job   *anthropicJob
	parts parts
	shown int  // blocks begun on the wire
	open  bool // the last of them has not been stopped
}

func newAnthropicWire(j *anthropicJob) *anthropicWire { return &anthropicWire{job: j} }

type anthropicMessage struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         string           `json:"role"`
	Model        string           `json:"model"`
	Content      []anthropicBlock `json:"content"`
	StopReason   *string          `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        anthropicUsage   `json:"usage"`
	Flashlane    *details         `json:"flashlane,omitempty"`
}

type anthropicUsage struct {
	Input       int            `json:"input_tokens"`
	CacheMade   int            `json:"cache_creation_input_tokens"`
	CacheRead   int            `json:"cache_read_input_tokens"`
	Output      int            `json:"output_tokens"`
	OutputHow   anthropicSpent `json:"output_tokens_details"`
	ServiceTier string         `json:"service_tier"`
}

type anthropicSpent struct {
	Thinking int `json:"thinking_tokens"`
}

// anthropicBlock is a content block; which fields it has depends on its type.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type anthropicDelta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
	JSON      *string `json:"partial_json,omitempty"`
}

// The events.
type (
	anthropicStart struct {
		Type    string           `json:"type"`
		Message anthropicMessage `json:"message"`
	}
	anthropicOpen struct {
		Type  string         `json:"type"`
		Index int            `json:"index"`
		Block anthropicBlock `json:"content_block"`
	}
	anthropicPiece struct {
		Type  string         `json:"type"`
		Index int            `json:"index"`
		Delta anthropicDelta `json:"delta"`
	}
	anthropicClose struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	anthropicTurn struct {
		Type  string         `json:"type"`
		Delta anthropicEnd   `json:"delta"`
		Usage anthropicUsage `json:"usage"`
	}
	anthropicEnd struct {
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
	anthropicStop struct {
		Type      string   `json:"type"`
		Flashlane *details `json:"flashlane"`
	}
	anthropicPing struct {
		Type string `json:"type"`
	}
)

func (w *anthropicWire) message() anthropicMessage {
	return anthropicMessage{ID: w.job.id, Type: "message", Role: "assistant", Model: w.job.model.ID, Content: []anthropicBlock{},
		Usage: anthropicUsage{Input: len(w.job.request.Prompt), ServiceTier: "standard"}}
}

func (w *anthropicWire) begin(out *sse.Writer) {
	out.Event("message_start", anthropicStart{"message_start", w.message()})
	out.Event("ping", anthropicPing{"ping"})
}

func (w *anthropicWire) alive(out *sse.Writer, progress string) {
	out.Comment("keep-alive" + progress)
	if w.shown > 0 || progress != "" { // a ping before message_start would confuse clients; a comment does not
		out.Event("ping", anthropicPing{"ping"})
	}
}

// hidden reports whether a delta gives nothing on this wire.
func (w *anthropicWire) hidden(d chat.Delta) bool {
	return d.Kind == chat.Reasoning && w.job.thinking == thinkingHidden
}

func (w *anthropicWire) event(out *sse.Writer, _ int, e intake.Event) {
	for deltas := e.Deltas; len(deltas) > 0; {
		var d chat.Delta
		if d, deltas = run(deltas); w.hidden(d) {
			continue
		}
		previous := w.last()
		at, opened := w.parts.add(d)
		if opened {
			w.stop(out, previous)
			w.start(out, at)
		}
		if at != nil && d.Text != "" {
			w.piece(out, at.kind, d.Text)
		}
	}
}

func (w *anthropicWire) last() *part {
	if n := len(w.parts.list); n > 0 {
		return w.parts.list[n-1]
	}
	return nil
}

// start opens a block, empty.
func (w *anthropicWire) start(out *sse.Writer, p *part) {
	empty := ""
	b := anthropicBlock{Type: "text", Text: &empty}
	switch p.kind {
	case chat.Reasoning:
		b = anthropicBlock{Type: "thinking", Thinking: &empty, Signature: &empty}
	case chat.ToolStart:
		b = anthropicBlock{Type: "tool_use", ID: w.callID(w.shown), Name: p.name, Input: json.RawMessage("{}")}
	}
	out.Event("content_block_start", anthropicOpen{"content_block_start", w.shown, b})
	w.shown++
	w.open = true
}

// callID names the call in block i.
func (w *anthropicWire) callID(i int) string { return "toolu_" + callID(w.job.id, i)[len("call_"):] }

// piece adds to the open block.
func (w *anthropicWire) piece(out *sse.Writer, kind chat.DeltaKind, text string) {
	d := anthropicDelta{Type: "text_delta", Text: &text}
	switch kind {
	case chat.Reasoning:
		if w.job.thinking != thinkingText {
			return
		}
		d = anthropicDelta{Type: "thinking_delta", Thinking: &text}
	case chat.ToolStart:
		d = anthropicDelta{Type: "input_json_delta", JSON: &text}
	}
	out.Event("content_block_delta", anthropicPiece{"content_block_delta", w.shown - 1, d})
}

// stop closes the open block, if there is one.
func (w *anthropicWire) stop(out *sse.Writer, p *part) {
	if !w.open {
		return
	}
	w.open = false
	switch {
	case p.kind == chat.Reasoning:
		s := signature(p.text.String())
		out.Event("content_block_delta", anthropicPiece{"content_block_delta", w.shown - 1, anthropicDelta{Type: "signature_delta", Signature: &s}})
	case p.kind == chat.ToolStart && !p.whole:
		if rest := closing(p.text.String()); rest != "" { // so that clients can read what there is of it
			w.piece(out, p.kind, rest)
		}
	}
	out.Event("content_block_stop", anthropicClose{"content_block_stop", w.shown - 1})
}

// signature stands where clients expect one. It is a digest of the thinking and no secret: nothing depends on it.
func signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (w *anthropicWire) done(out *sse.Writer, _ int, r *intake.Report, _ bool) {
	w.stop(out, w.last())
	reason, sequence := stopReason(r)
	out.Event("message_delta", anthropicTurn{"message_delta", anthropicEnd{&reason, sequence}, w.usage(r)})
	out.Event("message_stop", anthropicStop{"message_stop", detailsOf(w.job.job, []*intake.Report{r})})
}

// stopReason is Anthropic's word for why an answer ended, and the stop sequence if that was it.
func stopReason(r *intake.Report) (reason string, sequence *string) {
	switch {
	case r.Finish == intake.FinishLength:
		return "max_tokens", nil
	case r.Finish == intake.FinishToolCalls:
		return "tool_use", nil
	case r.StopString != "":
		return "stop_sequence", &r.StopString
	}
	return "end_turn", nil
}

// usage counts the prompt in two parts, as this wire does: what was run, and what came from a cache.
func (w *anthropicWire) usage(r *intake.Report) anthropicUsage {
	return anthropicUsage{Input: r.PromptTokens - r.CachedTokens, CacheRead: r.CachedTokens, Output: r.CompletionTokens, OutputHow: anthropicSpent{r.ReasoningTokens}, ServiceTier: "standard"}
}

func (w *anthropicWire) fail(out *sse.Writer, e *apiError) {
	out.Event("error", e.anthropic(w.job.id))
}

func (w *anthropicWire) whole(all []*collected) any {
	a := all[0]
	m := w.message()
	for _, p := range a.parts.list {
		if p.kind == chat.Reasoning && w.job.thinking == thinkingHidden {
			continue
		}
		m.Content = append(m.Content, w.block(p, len(m.Content)))
	}
	reason, sequence := stopReason(a.report)
	m.StopReason, m.StopSequence = &reason, sequence
	m.Usage, m.Flashlane = w.usage(a.report), detailsOf(w.job.job, []*intake.Report{a.report})
	return m
}

// block is a whole block.
func (w *anthropicWire) block(p *part, index int) anthropicBlock {
	text := p.text.String()
	switch p.kind {
	case chat.Reasoning:
		s := signature(text)
		if w.job.thinking == thinkingOmitted {
			text = ""
		}
		return anthropicBlock{Type: "thinking", Thinking: &text, Signature: &s}
	case chat.ToolStart:
		if !p.whole {
			text += closing(text)
		}
		if !json.Valid([]byte(text)) {
			text = "{}"
		}
		return anthropicBlock{Type: "tool_use", ID: w.callID(index), Name: p.name, Input: json.RawMessage(text)}
	}
	return anthropicBlock{Type: "text", Text: &text}
}

// anthropicError is the error object of this wire.
type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// anthropic is the error in this wire's shape.
func (e *apiError) anthropic(id string) anthropicError {
	out := anthropicError{Type: "error", RequestID: id}
	out.Error.Message = e.message
	switch e.status {
	case 401:
		out.Error.Type = "authentication_error"
	case 403:
		out.Error.Type = "permission_error"
	case 404:
		out.Error.Type = "not_found_error"
	case 413:
		out.Error.Type = "request_too_large"
	case 429:
		out.Error.Type = "rate_limit_error"
	case 503, 507:
		out.Error.Type = "overloaded_error"
	case 504:
		out.Error.Type = "timeout_error"
	default:
		out.Error.Type = "invalid_request_error"
		if e.status >= 500 || e.status == statusCancelled {
			out.Error.Type = "api_error"
		}
	}
	return out
}
