package server

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/server/body"
)

// readMessages reads OpenAI chat messages and gives them back in the form chat templates expect: one ordered JSON object
// each, content as one string, the developer role as system, tool call arguments as objects instead of JSON text.
func readMessages(r *body.Reader) []json.RawMessage {
	items, given := r.Array("messages")
	if !given {
		r.Fail("messages", body.CodeMissing, "is needed")
		return nil
	}
	if len(items) == 0 {
		r.Fail("messages", body.CodeInvalidValue, "is empty: at least one message is needed")
		return nil
	}
	out := make([]json.RawMessage, 0, len(items))
	for i, item := range items {
		m, err := body.Read(item, body.Index("messages", i))
		if err == nil {
			var raw json.RawMessage
			if raw, err = readMessage(m); err == nil {
				out = append(out, raw)
			}
		}
		if err != nil {
			keepError(r, err)
			return nil
		}
	}
	return out
}

// readMessage reads one message.
func readMessage(m *body.Reader) (json.RawMessage, error) {
	role, given := m.Str("role")
	if !given {
		m.Fail("role", body.CodeMissing, "is needed")
	}
	var o ordered
	switch role {
	case "system", "developer":
		o.text("role", "system")
		o.text("content", content(m, true))
	case "user":
		o.text("role", role)
		o.text("content", content(m, true))
	case "assistant":
		readAssistant(m, &o)
	case "tool":
		o.text("role", role)
		o.text("content", content(m, true))
		id, given := m.Str("tool_call_id")
		if !given || id == "" {
			m.Fail("tool_call_id", body.CodeMissing, "is needed in a tool message")
		}
		o.text("tool_call_id", id)
	case "function":
		m.Fail("role", body.CodeUnsupported, "'function' is not supported; use tool calls and role 'tool'")
	default:
		m.Fail("role", body.CodeInvalidValue, "must be system, developer, user, assistant or tool, got %q", clip(role, 40))
	}
	if name, given := m.Str("name"); given {
		o.text("name", name)
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	return o.close(), nil
}

// assistantFixed are what SDKs send along when they give an answer back as history.
var assistantFixed = []fixed{
	{field: "refusal"},
	{field: "audio"},
	{field: "function_call", hint: "use tool_calls"},
	{field: "annotations", takes: []string{"[]"}},
	{field: "parsed"}, // openai-node puts it into every message it assembles
}

func readAssistant(m *body.Reader, o *ordered) {
	calls := m.Has("tool_calls")
	o.text("role", "assistant")
	o.text("content", content(m, !calls && !m.Has("reasoning_content")))
	if think, given := m.Str("reasoning_content"); given {
		o.text("reasoning_content", think)
	}
	if items, given := m.Array("tool_calls"); given && len(items) > 0 {
		var list []json.RawMessage
		for i, item := range items {
			list = append(list, readCall(m, item, body.Index(m.Path("tool_calls"), i)))
		}
		o.list("tool_calls", list)
	}
	takeFixed(m, assistantFixed)
}

// readCall reads one tool call of the history. Its arguments are JSON text on the wire and an object in templates.
func readCall(m *body.Reader, item *body.Value, path string) json.RawMessage {
	c, err := body.Read(item, path)
	if err != nil {
		keepError(m, err)
		return nil
	}
	var o, fn ordered
	id := c.Needed("id")
	if kind, given := c.Str("type"); given && kind != "function" {
		c.Fail("type", body.CodeUnsupported, "must be 'function', got %q", clip(kind, 40))
	}
	c.Int("index", 0, 1<<20) // left over by clients that assembled the call from a stream
	o.text("id", id)
	o.text("type", "function")
	f, given := c.Reader("function")
	if !given {
		c.Fail("function", body.CodeMissing, "is needed")
	} else {
		name := f.Needed("name")
		fn.text("name", name)
		fn.raw("arguments", arguments(f))
		takeFixed(f, []fixed{{field: "parsed_arguments"}})
		keepError(c, f.Close())
	}
	o.raw("function", fn.close())
	keepError(m, c.Close())
	return o.close()
}

// arguments turns the JSON text of a call's arguments into the object it stands for, members in order.
func arguments(f *body.Reader) json.RawMessage {
	text, given := f.Str("arguments")
	if !given || strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	v, err := body.Parse([]byte(text), bodyLimits)
	if err != nil {
		f.Fail("arguments", body.CodeInvalidValue, "must be the JSON text of an object: %v", err)
		return json.RawMessage("{}")
	}
	if v.Kind != body.Object {
		f.Fail("arguments", body.CodeInvalidValue, "must be the JSON text of an object, got that of %s", v.Kind)
	}
	return v.Raw
}

// content reads a message's content: a string, or parts of type text, which are put together.
func content(m *body.Reader, needed bool) string {
	v, given := m.Take("content")
	if !given {
		if needed {
			m.Fail("content", body.CodeMissing, "is needed: a string or an array of text parts")
		}
		return ""
	}
	switch v.Kind {
	case body.String:
		return v.Text
	case body.Array:
	default:
		m.Fail("content", body.CodeInvalidType, "must be a string or an array of text parts, got %s", v.Kind)
		return ""
	}
	var text strings.Builder
	for i, item := range v.Items {
		part, err := body.Read(item, body.Index(m.Path("content"), i))
		if err != nil {
			keepError(m, err)
			return ""
		}
		kind, given := part.Str("type")
		switch {
		case !given:
			part.Fail("type", body.CodeMissing, "is needed")
		case kind != "text":
			part.Fail("type", body.CodeUnsupported, "is %q: this model reads text only", clip(kind, 40))
		}
		s, given := part.Str("text")
		if !given {
			part.Fail("text", body.CodeMissing, "is needed")
		}
		text.WriteString(s)
		if err := part.Close(); err != nil {
			keepError(m, err)
			return ""
		}
	}
	return text.String()
}

// ordered builds a JSON object member by member.
type ordered struct{ buf bytes.Buffer }

func (o *ordered) raw(name string, value []byte) {
	if o.buf.Len() == 0 {
		o.buf.WriteByte('{')
	} else {
		o.buf.WriteByte(',')
	}
	o.buf.Write(quote(name))
	o.buf.WriteByte(':')
	o.buf.Write(value)
}

func (o *ordered) text(name, value string) { o.raw(name, quote(value)) }

func (o *ordered) list(name string, items []json.RawMessage) {
	o.raw(name, append(append([]byte{'['}, bytes.Join(rawBytes(items), []byte{','})...), ']'))
}

func rawBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

func (o *ordered) close() json.RawMessage {
	if o.buf.Len() == 0 {
		return json.RawMessage("{}")
	}
	return append(bytes.Clone(o.buf.Bytes()), '}')
}

// quote writes s as a JSON string without HTML escapes.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always marshals
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
