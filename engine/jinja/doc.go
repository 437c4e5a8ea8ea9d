// Package jinja renders the chat templates that packs ship, with the semantics of the reference library: Jinja 2 with trim_blocks
// and lstrip_blocks, the loop controls break and continue, the generation tag, and Python's values.
//
// Python's values means: True, False and None print so; integers and floats stay apart; dictionaries keep their order; tojson writes
// what json.dumps(ensure_ascii=False) writes; an attribute of something undefined is an error, printing it is the empty text.
//
// Flow: engine/chat parses a pack's template once, gives it messages and tools as ordered values (FromJSON) and gets the prompt. A
// construct this package does not know is an error at Parse, with its line; nothing is skipped. Templates come from packs of
// unknown origin, so a rendering is bounded in steps, memory, output and recursion (Limits).
//
//	t, err := jinja.Parse("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
//	text, err := t.Render(map[string]any{"messages": messages})
//
// Known departures: safe does nothing (autoescape is off in the reference, where safe only makes + escape what is
// added to the safe text); include, import, extends, block, call and trans
// are refused; integers beyond 64 bits are carried and printed but not computed with.
package jinja
