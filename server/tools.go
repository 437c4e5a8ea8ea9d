package server

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/flashlane/flashlane/server/body"
)

// maxTools is OpenAI's limit.
const maxTools = 128

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// tool is one function in OpenAI's form.
type tool struct {
	name   string
	raw    []byte
	strict bool
}

// readTools reads an array of tools by one wire's reader of a tool. Names are compared, and a repeated one is blamed on
// nameField.
func readTools(r *body.Reader, c *conversation, read func(item *body.Value, path string) (tool, error), nameField string) {
	items, _ := r.Array("tools")
	if len(items) > maxTools {
		r.Fail("tools", body.CodeInvalidValue, "has %d tools, at most %d are taken", len(items), maxTools)
	}
	c.names = map[string]bool{}
	var raw []json.RawMessage
	for i, item := range items {
		path := body.Index("tools", i)
		t, err := read(item, path)
		switch {
		case err != nil:
			keepError(r, err)
		case c.names[t.name]:
			r.Fail(path+nameField, body.CodeInvalidValue, "is %q, like an earlier tool's", t.name)
		}
		c.names[t.name] = true
		c.strict = c.strict || t.strict
		raw = append(raw, t.raw)
	}
	if len(raw) > 0 {
		c.tools = append(append([]byte{'['}, bytes.Join(rawBytes(raw), []byte{','})...), ']')
	}
}

// readChatTools reads tools, tool_choice and parallel_tool_calls of the chat route.
func readChatTools(r *body.Reader, m *Model, c *conversation) {
	readTools(r, c, readTool, ".function.name")
	c.oneCall = readParallel(r, m)
	readToolChoice(r, c, false)
}

// readParallel reads parallel_tool_calls; true: the answer may have one call only.
func readParallel(r *body.Reader, m *Model) (one bool) {
	parallel, given := r.Bool("parallel_tool_calls")
	if !given || parallel {
		return false
	}
	if m.callEnd() < 0 {
		r.Fail("parallel_tool_calls", body.CodeUnsupported, "is supported with the value true only: this model has no token that ends a tool call")
	}
	return true
}

// readToolChoice reads tool_choice. With "none" the model is not told of the tools. flat says that a function's name stands
// beside type.
func readToolChoice(r *body.Reader, c *conversation, flat bool) {
	v, given := r.Take("tool_choice")
	if !given {
		return
	}
	switch {
	case v.Kind == body.String && v.Text == "none":
		c.tools = nil
	case v.Kind == body.String && v.Text == "auto":
	case v.Kind == body.String && v.Text == "required":
		c.required = true
	case v.Kind == body.Object:
		choice, err := body.Read(v, r.Path("tool_choice"))
		if err != nil {
			keepError(r, err)
			return
		}
		readToolType(choice, true, "function")
		named := choice
		if !flat {
			if named, given = choice.Reader("function"); !given {
				choice.Fail("function", body.CodeMissing, "is needed")
				keepError(r, choice.Close())
				return
			}
		}
		c.only = readToolName(named)
		keepError(choice, named.Close())
		keepError(r, choice.Close())
	default:
		r.Fail("tool_choice", body.CodeInvalidValue, "must be 'auto', 'none', 'required' or name a function")
	}
}

// readTool checks one tool of the chat route, whose form templates take as it is.
func readTool(item *body.Value, path string) (tool, error) {
	t, err := body.Read(item, path)
	if err != nil {
		return tool{}, err
	}
	readToolType(t, true, "function")
	f, given := t.Reader("function")
	if !given {
		t.Fail("function", body.CodeMissing, "is needed")
		return tool{}, t.Close()
	}
	name := readToolName(f)
	f.Str("description")
	f.Object("parameters")
	strict, _ := f.Bool("strict")
	keepError(t, f.Close())
	return tool{name, item.Raw, strict}, t.Close()
}

// readToolType checks a tool's type.
func readToolType(t *body.Reader, needed bool, want string) {
	kind, given := t.Str("type")
	switch {
	case !given && needed:
		t.Fail("type", body.CodeMissing, "is needed")
	case given && kind != want:
		t.Fail("type", body.CodeUnsupported, "must be '%s', got %q", want, clip(kind, 40))
	}
}

// readToolName checks a tool's name.
func readToolName(f *body.Reader) string {
	name, given := f.Str("name")
	if !given {
		f.Fail("name", body.CodeMissing, "is needed")
	} else if !toolName.MatchString(name) {
		f.Fail("name", body.CodeInvalidValue, "must be 1 to 64 letters, digits, '_', '-' or '.', got %q", clip(name, 80))
	}
	return name
}

// functionTool writes a tool in the form of the chat route; parameters may be nil.
func functionTool(name, description string, parameters []byte, strict bool) tool {
	var fn, o ordered
	fn.text("name", name)
	if description != "" {
		fn.text("description", description)
	}
	if parameters != nil {
		fn.raw("parameters", parameters)
	}
	if strict {
		fn.raw("strict", []byte("true"))
	}
	o.text("type", "function")
	o.raw("function", fn.close())
	return tool{name, o.close(), strict}
}
