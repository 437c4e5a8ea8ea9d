package server

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/server/body"
)

// items collects the input of /v1/responses in the form templates expect: reasoning, text and calls that follow each other
// are one assistant message.
type items struct {
	out       []json.RawMessage
	calls     map[string]bool // call_ids so far
	assistant *assistantItem  // being put together
}

type assistantItem struct {
	think, text strings.Builder
	thought     bool
	calls       []json.RawMessage
}

// readInput reads instructions and input.
func (j *responsesJob) readInput(r *body.Reader) []json.RawMessage {
	t := &items{calls: map[string]bool{}}
	if text, given := r.Str("instructions"); given {
		j.echo.Instructions = &text
		t.say("system", text)
	}
	v, given := r.Take("input")
	switch {
	case !given:
		r.Fail("input", body.CodeMissing, "is needed: a string or an array of items")
	case v.Kind == body.String:
		t.say("user", v.Text)
	case v.Kind != body.Array:
		r.Fail("input", body.CodeInvalidType, "must be a string or an array of items, got %s", v.Kind)
	case len(v.Items) == 0:
		r.Fail("input", body.CodeInvalidValue, "is empty: at least one item is needed")
	default:
		for i, item := range v.Items {
			m, err := body.Read(item, body.Index("input", i))
			if err == nil {
				t.item(m)
				err = m.Close()
			}
			if err != nil {
				keepError(r, err)
				break
			}
		}
	}
	t.flush()
	return t.out
}

func (t *items) say(role, text string) {
	t.flush()
	var o ordered
	o.text("role", role)
	o.text("content", text)
	t.out = append(t.out, o.close())
}

// flush ends the assistant message being put together.
func (t *items) flush() {
	a := t.assistant
	if a == nil {
		return
	}
	t.assistant = nil
	var o ordered
	o.text("role", "assistant")
	o.text("content", a.text.String())
	if a.thought {
		o.text("reasoning_content", a.think.String())
	}
	if len(a.calls) > 0 {
		o.list("tool_calls", a.calls)
	}
	t.out = append(t.out, o.close())
}

func (t *items) mine() *assistantItem {
	if t.assistant == nil {
		t.assistant = &assistantItem{}
	}
	return t.assistant
}

// item reads one item. Ids and states that a client sends back with an earlier output change nothing.
func (t *items) item(m *body.Reader) {
	kind, given := m.Str("type")
	if !given {
		kind = "message"
	}
	m.Str("id")
	if status, given := m.Str("status"); given && !slices.Contains([]string{"completed", "incomplete", "in_progress"}, status) {
		m.Fail("status", body.CodeInvalidValue, "must be completed, incomplete or in_progress, got %q", clip(status, 40))
	}
	switch kind {
	case "message":
		t.message(m)
	case "reasoning":
		t.reasoning(m)
	case "function_call":
		t.call(m)
	case "function_call_output":
		t.output(m)
	case "item_reference":
		m.Fail("type", body.CodeUnsupported, "'item_reference' is not supported: nothing is stored here; send the item itself")
	default:
		m.Fail("type", body.CodeUnsupported, "is %q: message, reasoning, function_call and function_call_output are supported", clip(kind, 40))
	}
}

func (t *items) message(m *body.Reader) {
	role, given := m.Str("role")
	text := itemText(m, "content", "input_text", "output_text", "text")
	switch role {
	case "user":
		t.say(role, text)
	case "system", "developer":
		t.say("system", text)
	case "assistant":
		a := t.mine()
		a.text.WriteString(text)
		m.Str("phase") // a label of the client's own history
	default:
		if !given {
			m.Fail("role", body.CodeMissing, "is needed")
		}
		m.Fail("role", body.CodeInvalidValue, "must be user, assistant, system or developer, got %q", clip(role, 40))
	}
}

// itemText reads a string, or parts of the kinds named, which are put together.
func itemText(m *body.Reader, field string, kinds ...string) string {
	v, given := m.Take(field)
	if !given {
		m.Fail(field, body.CodeMissing, "is needed: a string or an array of text parts")
		return ""
	}
	if v.Kind == body.String {
		return v.Text
	}
	if v.Kind != body.Array {
		m.Fail(field, body.CodeInvalidType, "must be a string or an array of text parts, got %s", v.Kind)
		return ""
	}
	var text strings.Builder
	for i, item := range v.Items {
		p, err := body.Read(item, body.Index(m.Path(field), i))
		if err == nil {
			kind, given := p.Str("type")
			switch {
			case !given:
				p.Fail("type", body.CodeMissing, "is needed")
			case !slices.Contains(kinds, kind):
				p.Fail("type", body.CodeUnsupported, "is %q: this model reads text only", clip(kind, 40))
			}
			s, given := p.Str("text")
			if !given {
				p.Fail("text", body.CodeMissing, "is needed")
			}
			text.WriteString(s)
			p.Array("annotations") // of an earlier output_text: always empty here, and of no use to the model
			p.Array("logprobs")
			err = p.Close()
		}
		if err != nil {
			keepError(m, err)
			return ""
		}
	}
	return text.String()
}

// reasoning reads a reasoning item: its content, else its encrypted_content, else its summary.
func (t *items) reasoning(m *body.Reader) {
	summary, text := "", ""
	if m.Has("summary") {
		summary = itemText(m, "summary", "summary_text")
	}
	if m.Has("content") {
		text = itemText(m, "content", "reasoning_text", "text")
	}
	if sealed, given := m.Str("encrypted_content"); given && text == "" {
		opened, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil || !strings.HasPrefix(string(opened), sealMark) {
			m.Fail("encrypted_content", body.CodeInvalidValue, "was not made by this server")
		} else {
			text = strings.ToValidUTF8(string(opened[len(sealMark):]), "\uFFFD")
		}
	}
	if text == "" {
		text = summary
	}
	a := t.mine()
	a.think.WriteString(text)
	a.thought = true
}

// sealMark begins what encrypted_content holds. It is not encrypted: the reasoning is the client's own, and the server has
// nothing to hide in it.
const sealMark = "flashlane reasoning\n"

func seal(text string) string { return base64.StdEncoding.EncodeToString([]byte(sealMark + text)) }

// call reads a function_call item.
func (t *items) call(m *body.Reader) {
	id := m.Needed("call_id")
	t.calls[id] = true
	name := m.Needed("name")
	a := t.mine()
	a.calls = append(a.calls, callOf(id, name, arguments(m)))
}

// output reads a function_call_output item.
func (t *items) output(m *body.Reader) {
	id := m.Needed("call_id")
	if !t.calls[id] {
		m.Fail("call_id", body.CodeInvalidValue, "is %q, which no function_call item before it has", clip(id, 80))
	}
	t.flush()
	var o ordered
	o.text("role", "tool")
	o.text("content", itemText(m, "output", "input_text", "text"))
	o.text("tool_call_id", id)
	t.out = append(t.out, o.close())
}
