package server

import (
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/server/body"
)

// turns collects an Anthropic conversation in the form templates expect: a tool_result becomes a tool message of its own,
// and what stands around it in the same turn its neighbours.
type turns struct {
	out   []json.RawMessage
	calls map[string]bool // ids of tool_use blocks so far
}

// readTurns reads system and messages.
func readTurns(r *body.Reader) []json.RawMessage {
	t := &turns{calls: map[string]bool{}}
	if v, given := r.Take("system"); given {
		var o ordered
		o.text("role", "system")
		o.text("content", textBlocks(r, v, "system"))
		t.out = append(t.out, o.close())
	}
	items, given := r.Array("messages")
	switch {
	case !given:
		r.Fail("messages", body.CodeMissing, "is needed")
	case len(items) == 0:
		r.Fail("messages", body.CodeInvalidValue, "is empty: at least one message is needed")
	}
	last := ""
	for i, item := range items {
		m, err := body.Read(item, r.Path(body.Index("messages", i)))
		if err != nil {
			keepError(r, err)
			break
		}
		last = t.turn(m)
		if err := m.Close(); err != nil {
			keepError(r, err)
			break
		}
	}
	if last == "assistant" {
		r.Fail("messages", body.CodeUnsupported, "ends with an assistant message: answers are not continued here; end with a user message")
	}
	return t.out
}

// turn reads one message and returns its role.
func (t *turns) turn(m *body.Reader) (role string) {
	role, given := m.Str("role")
	content, has := m.Take("content")
	switch {
	case !given:
		m.Fail("role", body.CodeMissing, "is needed")
	case role != "user" && role != "assistant":
		m.Fail("role", body.CodeInvalidValue, "must be user or assistant, got %q", clip(role, 40))
	case !has:
		m.Fail("content", body.CodeMissing, "is needed: a string or an array of blocks")
	case content.Kind != body.String && content.Kind != body.Array:
		m.Fail("content", body.CodeInvalidType, "must be a string or an array of blocks, got %s", content.Kind)
	case role == "user":
		t.user(m, content)
	default:
		t.assistant(m, content)
	}
	return role
}

func (t *turns) say(role string, text string) {
	var o ordered
	o.text("role", role)
	o.text("content", text)
	t.out = append(t.out, o.close())
}

// user reads a user's turn.
func (t *turns) user(m *body.Reader, content *body.Value) {
	if content.Kind == body.String {
		t.say("user", content.Text)
		return
	}
	if len(content.Items) == 0 {
		m.Fail("content", body.CodeInvalidValue, "is empty: at least one block is needed")
	}
	var text strings.Builder
	spoken := false
	flush := func() {
		if spoken {
			t.say("user", text.String())
		}
		text.Reset()
		spoken = false
	}
	eachBlock(m, content, "content", func(b *body.Reader, kind string) {
		switch kind {
		case "text":
			text.WriteString(blockText(b))
			spoken = true
		case "tool_result":
			flush()
			t.result(b)
		default:
			b.Fail("type", body.CodeUnsupported, "is %q: a user's blocks may be text or tool_result, for this model reads text only", clip(kind, 40))
		}
	})
	flush()
}

// result reads a tool_result block.
func (t *turns) result(b *body.Reader) {
	id := b.Needed("tool_use_id")
	if !t.calls[id] {
		b.Fail("tool_use_id", body.CodeInvalidValue, "is %q, which no tool_use block before it has", clip(id, 80))
	}
	text := ""
	if v, given := b.Take("content"); given {
		text = textBlocks(b, v, "content")
	}
	if failed, _ := b.Bool("is_error"); failed {
		text = "Error: " + text // templates have no mark for it, so the model is told in words
	}
	var o ordered
	o.text("role", "tool")
	o.text("content", text)
	o.text("tool_call_id", id)
	t.out = append(t.out, o.close())
}

// assistant reads an assistant's turn.
func (t *turns) assistant(m *body.Reader, content *body.Value) {
	if content.Kind == body.String {
		t.say("assistant", content.Text)
		return
	}
	var text, think strings.Builder
	thought := false
	var calls []json.RawMessage
	eachBlock(m, content, "content", func(b *body.Reader, kind string) {
		switch kind {
		case "text":
			text.WriteString(blockText(b))
		case "thinking":
			s, given := b.Str("thinking")
			if !given {
				b.Fail("thinking", body.CodeMissing, "is needed")
			}
			b.Str("signature") // ours proves nothing that would need checking: the text itself is given back
			think.WriteString(s)
			thought = thought || s != ""
		case "tool_use":
			calls = append(calls, t.call(b))
		default:
			b.Fail("type", body.CodeUnsupported, "is %q: an assistant's blocks may be text, thinking or tool_use", clip(kind, 40))
		}
	})
	var o ordered
	o.text("role", "assistant")
	o.text("content", text.String())
	if thought {
		o.text("reasoning_content", think.String())
	}
	if len(calls) > 0 {
		o.list("tool_calls", calls)
	}
	t.out = append(t.out, o.close())
}

// call reads a tool_use block.
func (t *turns) call(b *body.Reader) json.RawMessage {
	id := b.Needed("id")
	t.calls[id] = true
	name := b.Needed("name")
	input, given := b.Object("input")
	if !given {
		b.Fail("input", body.CodeMissing, "is needed")
		return nil
	}
	takeFixed(b, []fixed{{field: "caller", takes: []string{`{"type":"direct"}`}}, {field: "toolset_name"}})
	return callOf(id, name, input.Raw)
}

// callOf writes a tool call in the form of templates: arguments are an object.
func callOf(id, name string, arguments []byte) json.RawMessage {
	var o, fn ordered
	fn.text("name", name)
	fn.raw("arguments", arguments)
	o.text("id", id)
	o.text("type", "function")
	o.raw("function", fn.close())
	return o.close()
}

// eachBlock calls read for every block of an array and closes it.
func eachBlock(r *body.Reader, v *body.Value, field string, read func(b *body.Reader, kind string)) {
	for i, item := range v.Items {
		b, err := body.Read(item, body.Index(r.Path(field), i))
		if err == nil {
			kind, given := b.Str("type")
			if !given {
				b.Fail("type", body.CodeMissing, "is needed")
			} else {
				read(b, kind)
				readCacheControl(b)
			}
			err = b.Close()
		}
		if err != nil {
			keepError(r, err)
			return
		}
	}
}

// blockText reads a block of type text.
func blockText(b *body.Reader) string {
	s, given := b.Str("text")
	if !given {
		b.Fail("text", body.CodeMissing, "is needed")
	}
	takeFixed(b, []fixed{{field: "citations", takes: []string{"[]"}}})
	return s
}

// textBlocks reads a string, or blocks of type text, which are put together.
func textBlocks(r *body.Reader, v *body.Value, field string) string {
	switch v.Kind {
	case body.String:
		return v.Text
	case body.Array:
	default:
		r.Fail(field, body.CodeInvalidType, "must be a string or an array of text blocks, got %s", v.Kind)
		return ""
	}
	var text strings.Builder
	eachBlock(r, v, field, func(b *body.Reader, kind string) {
		if kind != "text" {
			b.Fail("type", body.CodeUnsupported, "is %q: this model reads text only", clip(kind, 40))
			return
		}
		if text.Len() > 0 && field == "system" {
			text.WriteString("\n")
		}
		text.WriteString(blockText(b))
	})
	return text.String()
}
