package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// ToolSchema is what the parser needs of a tool: the types of its parameters, for the model writes texts raw and all else as JSON.
type ToolSchema struct {
	Name   string
	Params map[string]Types
}

// Types is a set of JSON types that a schema allows; the empty set means that it does not say.
type Types uint8

// The JSON types.
const (
	String Types = 1 << iota
	Number       // integers too
	Boolean
	Object
	Array
	Null
)

var typeNames = map[string]Types{"string": String, "number": Number, "integer": Number, "boolean": Boolean, "object": Object, "array": Array, "null": Null}

// ToolSchemas reads the tools of a request, a JSON array in the OpenAI form ({"type": "function", "function": {...}}) or of bare
// functions. Empty input gives none.
func ToolSchemas(tools json.RawMessage) ([]ToolSchema, error) {
	if len(bytes.TrimSpace(tools)) == 0 {
		return nil, nil
	}
	type function struct {
		Name       string
		Parameters schema
	}
	var list []struct {
		Function *function
		function
	}
	if err := json.Unmarshal(tools, &list); err != nil {
		return nil, fmt.Errorf("chat: tools: %w", err)
	}
	out := make([]ToolSchema, 0, len(list))
	for i, t := range list {
		f := t.function
		if t.Function != nil {
			f = *t.Function
		}
		if f.Name == "" {
			return nil, fmt.Errorf("chat: tools[%d]: function.name is missing", i)
		}
		s := ToolSchema{f.Name, make(map[string]Types, len(f.Parameters.Properties))}
		for name, p := range f.Parameters.Properties {
			s.Params[name] = p.types(&f.Parameters, 0)
		}
		out = append(out, s)
	}
	return out, nil
}

// schema is the part of a JSON schema that tells types. Anything of another form than expected is as good as absent: constrained
// decoding refuses bad schemas, this only reads hints.
type schema struct {
	Type                json.RawMessage
	Properties          map[string]*schema
	AnyOf, OneOf, AllOf []*schema
	Enum                []json.RawMessage
	Const               json.RawMessage
	Ref                 string             `json:"$ref"`
	Defs                map[string]*schema `json:"$defs"`
	Definitions         map[string]*schema
}

// UnmarshalJSON accepts what is no object (true, false) as a schema that says nothing.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	var p plain
	if json.Unmarshal(b, &p) == nil {
		*s = schema(p)
	}
	return nil
}

// types are the types a schema allows; root holds what local references name.
func (s *schema) types(root *schema, depth int) Types {
	if s == nil || depth > 8 {
		return 0
	}
	if s.Ref != "" {
		for prefix, defs := range map[string]map[string]*schema{"#/$defs/": root.Defs, "#/definitions/": root.Definitions} {
			if name, ok := strings.CutPrefix(s.Ref, prefix); ok {
				return defs[name].types(root, depth+1)
			}
		}
		return 0
	}
	var one string
	var many []string
	switch {
	case json.Unmarshal(s.Type, &one) == nil:
		return typeNames[one]
	case json.Unmarshal(s.Type, &many) == nil:
		var out Types
		for _, t := range many {
			out |= typeNames[t]
		}
		return out
	case len(s.Const) > 0:
		return typeOf(s.Const)
	case len(s.Enum) > 0:
		var out Types
		for _, v := range s.Enum {
			out |= typeOf(v)
		}
		return out
	}
	var out Types
	for _, list := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, sub := range list {
			t := sub.types(root, depth+1)
			if t == 0 && len(s.AllOf) == 0 {
				return 0 // one branch may be anything
			}
			out |= t
		}
	}
	if out == 0 && s.Properties != nil {
		return Object
	}
	return out
}

// typeOf is the type of a JSON value that is known to be valid.
func typeOf(v []byte) Types {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return 0
	}
	switch v[0] {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	}
	return Number
}

// value makes JSON of the text the model wrote for a parameter of these types.
func (t Types) value(text string) string {
	bare := strings.TrimSpace(text)
	if t == String {
		return quote(text)
	}
	switch {
	case t&Boolean != 0 && (bare == "True" || bare == "False"), t&Null != 0 && bare == "None":
		// Python's spelling, which models slip into.
		return map[string]string{"True": "true", "False": "false", "None": "null"}[bare]
	}
	if !json.Valid([]byte(bare)) {
		return quote(text)
	}
	is := typeOf([]byte(bare))
	switch {
	case t == 0 && is == String: // the model writes texts raw: these quotes are part of one
		return quote(text)
	case t&String != 0 && t&is == 0: // a text was allowed, and this is nothing else that was
		return quote(text)
	case t&String != 0 && is == String:
		return quote(text)
	}
	return bare
}

// quote is the JSON text for s.
func quote(s string) string { return `"` + escape(s) + `"` }

// escape is the inside of a JSON text. Piece by piece it gives the same as in one go.
func escape(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] == 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < 0x20 || c == 0x7F:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
