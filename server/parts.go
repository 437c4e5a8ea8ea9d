package server

import (
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/engine/chat"
)

// part is one piece of an answer: reasoning, text, or a tool call with its arguments.
type part struct {
	kind  chat.DeltaKind // Reasoning, Content or ToolStart
	name  string         // of the function
	text  strings.Builder
	whole bool // a tool call that came to its end
}

// parts are an answer in the order in which it was made, for the wires that show it as a list of blocks or items.
type parts struct{ list []*part }

// add takes one delta. It returns the part it belongs to, and whether that begins with it; nil for a delta that only ends one.
func (p *parts) add(d chat.Delta) (at *part, opened bool) {
	if n := len(p.list); n > 0 {
		at = p.list[n-1]
	}
	switch d.Kind {
	case chat.ToolEnd:
		at.whole = true
		return nil, false
	case chat.ToolArgs:
	case chat.ToolStart:
		at, opened = &part{kind: d.Kind, name: d.Name}, true
	default:
		if at == nil || at.kind != d.Kind {
			at, opened = &part{kind: d.Kind}, true
		}
	}
	if opened {
		p.list = append(p.list, at)
	}
	at.text.WriteString(d.Text)
	return at, opened
}

// closing is what makes the beginning of a JSON text whole again: the ends of what is open in it, and null for a value that
// did not come. "" when nothing would do.
func closing(begun string) string {
	if strings.TrimSpace(begun) == "" {
		return "{}"
	}
	var open []byte // closers, innermost last
	quoted, escaped := false, false
	for i := range len(begun) {
		switch c := begun[i]; {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	var ends strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		ends.WriteByte(open[i])
	}
	for _, middle := range []string{"", "null", `"`, `\"`, ": null", `": null`} {
		if tail := middle + ends.String(); json.Valid([]byte(begun + tail)) {
			return tail
		}
	}
	return ""
}
