package chat

import (
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/engine/jinja"
)

// readMessages makes template values of the messages. Templates expect the arguments of a tool call as a mapping, while the wire has
// them as JSON in a text: they are read here, in order. All else is passed as it came; it is the template's to judge.
func readMessages(raw []json.RawMessage) (jinja.List, error) {
	out := make(jinja.List, len(raw))
	for i, r := range raw {
		v, err := jinja.FromJSON(r)
		if err != nil {
			return nil, refuse("messages[%d]: %v", i, err)
		}
		m, ok := v.(*jinja.Dict)
		if !ok {
			return nil, refuse("messages[%d]: want an object", i)
		}
		if role, _ := m.Get("role"); role == nil {
			return nil, refuse("messages[%d].role: is missing", i)
		}
		if err := readCalls(m, i); err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// readCalls replaces the arguments of each tool call of message i.
func readCalls(m *jinja.Dict, i int) error {
	v, _ := m.Get("tool_calls")
	if v == nil {
		return nil
	}
	calls, ok := v.(jinja.List)
	if !ok {
		return refuse("messages[%d].tool_calls: want an array", i)
	}
	for j, c := range calls {
		call, ok := c.(*jinja.Dict)
		if !ok {
			return refuse("messages[%d].tool_calls[%d]: want an object", i, j)
		}
		path := ".function"
		if f, ok := call.Get("function"); ok {
			if call, ok = f.(*jinja.Dict); !ok {
				return refuse("messages[%d].tool_calls[%d].function: want an object", i, j)
			}
		} else {
			path = ""
		}
		args, _ := call.Get("arguments")
		text, ok := args.(string)
		if !ok {
			continue
		}
		var read jinja.Value = jinja.NewDict()
		if strings.TrimSpace(text) != "" {
			var err error
			if read, err = jinja.FromJSON([]byte(text)); err != nil {
				return refuse("messages[%d].tool_calls[%d]%s.arguments: not JSON: %v", i, j, path, err)
			}
			if _, ok := read.(*jinja.Dict); !ok {
				return refuse("messages[%d].tool_calls[%d]%s.arguments: want a JSON object", i, j, path)
			}
		}
		call.Put("arguments", read)
	}
	return nil
}
