package grammar

import (
	"fmt"
	"strings"
)

// Tags of the model's output.
const (
	tagCall    = "<tool_call>"
	tagCallEnd = "</tool_call>"
	tagThought = "</think>"
)

// Tool is a function that the model may call.
type Tool struct {
	Name       string
	Parameters []byte // JSON Schema of an object; empty: no parameters
	Loose      bool   // keywords that are not supported are ignored: for tools that are not strict
}

// ToolOptions say how calls may come. tool_choice required is the zero value; a named function is a list of that one tool with Max 1.
type ToolOptions struct {
	Options
	// Max is the most calls that may come; 0 is any number. parallel_tool_calls false is 1.
	Max int
	// Text lets the model write text instead, or first: tool_choice auto. The text cannot spell "<tool_call>".
	Text bool
}

// ToolCalls is the grammar of calls in the model's form, separated by newlines:
//
//	<tool_call>
//	<function=NAME>
//	<parameter=ARG>
//	value
//	</parameter>
//	</function>
//	</tool_call>
//
// Only listed properties are parameters, in the order of the schema. Errors are *SchemaError with Tool set.
func ToolCalls(tools []Tool, o ToolOptions) (*Grammar, error) {
	if len(tools) == 0 {
		return nil, &SchemaError{Kind: ErrSchema, Reason: "no tools to choose from"}
	}
	if len(tools) > maxAlternatives {
		return nil, &SchemaError{Kind: ErrLimit, Reason: fmt.Sprintf("%d tools, at most %d", len(tools), maxAlternatives)}
	}
	c, err := newCompiler(o.Options)
	if err != nil {
		return nil, err
	}
	c.guard = true
	g := c.g
	open, end := g.tag(tagCall), g.tag(tagCallEnd)
	functions := node{kind: kindAlt}
	var params []int32
	seen := map[string]bool{}
	for _, t := range tools {
		if !plainName(t.Name) || seen[t.Name] {
			return nil, &SchemaError{Tool: t.Name, Kind: ErrSchema, Reason: "a tool's name is wanted, of at most 256 bytes, without line breaks, quotes, '<' and '>', and only once"}
		}
		seen[t.Name] = true
		p, err := c.parameters(t)
		if err != nil {
			return nil, err
		}
		params = append(params, p)
		functions.members = append(functions.members, g.put(node{kind: kindSeq, elems: []elem{
			{kind: elemLit, text: t.Name + ">\n"}, {kind: elemCall, node: p}, {kind: elemTag, text: tagCallEnd, tag: end},
		}}))
	}
	rest := []elem{{kind: elemLit, text: "\n<function="}, {kind: elemCall, node: g.put(functions)}}
	call := g.put(node{kind: kindSeq, elems: append([]elem{{kind: elemTag, text: tagCall, tag: open}}, rest...)})
	limit := uint32(unlimited)
	if o.Max > 0 && o.Max < unlimited {
		limit = uint32(o.Max)
	}
	g.root = g.put(node{kind: kindRepeat, items: call, max: limit})
	if o.Text {
		text := g.put(node{kind: kindRaw, max: unlimited, raw: rawSpec{close: tagCall, tag: open, open: true}})
		lead := g.put(node{kind: kindRaw, max: unlimited, raw: rawSpec{close: tagCall, tag: open}})
		first := g.put(node{kind: kindSeq, elems: append([]elem{{kind: elemCall, node: lead}}, rest...)})
		after := g.put(node{kind: kindRepeat, first: first, items: call, max: limit})
		g.root = g.put(node{kind: kindAlt, members: []int32{text, after}})
	}
	err = g.link()
	for i, p := range params {
		if g.nodes[p].height > g.depth {
			return nil, &SchemaError{Tool: tools[i].Name, Kind: ErrUnsatisfiable, Reason: "no finite arguments fit within the depth"}
		}
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// plainName reports whether a name can stand in a tag.
func plainName(s string) bool {
	return s != "" && len(s) <= 256 && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "<>\"\r\n")
}

// Thinking returns the grammar of the same texts after the end of reasoning: any text, "</think>" at the beginning of a line, a blank line, the text of g. This is how
// templates write it, and it leaves a reader no doubt that the tag is not quoted. It is for requests whose prompt ends inside of "<think>", at the beginning of a line.
func (g *Grammar) Thinking() *Grammar {
	t := &Grammar{nodes: append([]node(nil), g.nodes...), root: g.root, depth: g.depth, tags: append([]string(nil), g.tags...)}
	thought := t.put(node{kind: kindRaw, max: unlimited, raw: rawSpec{close: tagThought, newline: true, fresh: true, tag: t.tag(tagThought)}})
	t.root = t.put(node{kind: kindSeq, elems: []elem{
		{kind: elemCall, node: thought}, {kind: elemLit, text: "\n\n"}, {kind: elemCall, node: g.root},
	}, height: g.nodes[g.root].height})
	return t
}
