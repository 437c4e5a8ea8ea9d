package server

import (
	"encoding/json"

	"github.com/flashlane/flashlane/server/body"
)

// readFormat reads a field that says what form the answer has to have: response_format of chat, text.format of responses.
// flat says that a schema's members stand beside type, and not in a json_schema object.
func readFormat(r *body.Reader, field string, flat bool, c *conversation) {
	f, given := r.Reader(field)
	if !given {
		return
	}
	path := r.Path(field)
	kind, given := f.Str("type")
	switch {
	case !given:
		f.Fail("type", body.CodeMissing, "is needed")
	case kind == "text":
	case kind == kindObject:
		c.format = &constraint{Kind: kindObject, param: path}
	case kind == kindSchema && flat:
		c.format = readSchema(f)
	case kind == kindSchema:
		inner, given := f.Reader("json_schema")
		if !given {
			f.Fail("json_schema", body.CodeMissing, "is needed")
			break
		}
		c.format = readSchema(inner)
		keepError(f, inner.Close())
	default:
		f.Fail("type", body.CodeInvalidValue, "must be text, json_object or json_schema, got %q", clip(kind, 40))
	}
	keepError(r, f.Close())
}

// readSchema reads a named schema. It is enforced whether or not it says strict.
func readSchema(s *body.Reader) *constraint {
	name, given := s.Str("name")
	switch {
	case !given:
		s.Fail("name", body.CodeMissing, "is needed")
	case !toolName.MatchString(name):
		s.Fail("name", body.CodeInvalidValue, "must be 1 to 64 letters, digits, '_', '-' or '.', got %q", clip(name, 80))
	}
	s.Str("description")
	s.Bool("strict")
	return schemaOf(s)
}

// schemaOf reads the schema itself.
func schemaOf(s *body.Reader) *constraint {
	v, given := s.Take("schema")
	if !given {
		s.Fail("schema", body.CodeMissing, "is needed")
		return nil
	}
	if v.Kind != body.Object && v.Kind != body.Bool {
		s.Fail("schema", body.CodeInvalidType, "must be an object, got %s", v.Kind)
		return nil
	}
	return &constraint{Kind: kindSchema, Schema: json.RawMessage(compact(v.Raw)), param: s.Path("schema")}
}

// constraint is what all that the conversation asks for comes to; nil: nothing.
func (c *conversation) constraint() (*constraint, error) {
	calls := &constraint{Kind: kindCalls, Only: c.only, param: "tool_choice"}
	if c.oneCall || c.only != "" {
		calls.Max = 1
	}
	switch {
	case c.required || c.only != "":
		if c.tools == nil {
			return nil, body.Errorf("tool_choice", body.CodeInvalidValue, "asks for a tool call, and there are no tools")
		}
		if c.only != "" && !c.names[c.only] {
			return nil, body.Errorf("tool_choice", body.CodeInvalidValue, "names the function %q, which is not among the tools", c.only)
		}
		return calls, nil
	case c.format != nil && c.tools != nil:
		return nil, body.Errorf(c.format.param, body.CodeUnsupported, "is not supported together with tools; use tool_choice 'none' or 'required'")
	case c.format != nil:
		return c.format, nil
	case c.strict && c.tools != nil:
		calls.Text, calls.param = true, "tools"
		return calls, nil
	}
	return nil, nil
}

// hold gives the job's request its grammar, if the conversation asks for one.
func (j *job) hold(c *conversation, inThink bool) error {
	limit, err := c.constraint()
	if limit == nil || err != nil {
		return err
	}
	if limit.Kind != kindCalls && len(j.request.Stop) > 0 {
		return body.Errorf("stop", body.CodeUnsupported, "is not supported together with %s: it could cut the document short", limit.param)
	}
	if j.model.Grammars == nil {
		return body.Errorf(limit.param, body.CodeUnsupported, "is not supported: this model's vocabulary has not been made ready for it")
	}
	limit.Thinking = inThink
	bound, err := j.model.Grammars.bind(limit, c.tools)
	if err != nil {
		return limit.refused(err)
	}
	j.request.Grammar, j.limit = bound, limit
	return nil
}
