package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/server/body"
)

// fixed is a field of a known API that flashlane does not act on yet. It is taken when its value asks for what happens
// anyway, and refused by name otherwise: accepting it and doing nothing would be a lie.
type fixed struct {
	field string
	takes []string // compact JSON of the values that change nothing
	hint  string   // what to do instead, "" when there is nothing to say
}

// chatFixed are the fields of /v1/chat/completions with a single possible value.
var chatFixed = []fixed{
	{field: "store", takes: []string{"false"}, hint: "nothing is stored here"},
	{field: "service_tier", takes: []string{`"auto"`, `"default"`}},
	{field: "modalities", takes: []string{`["text"]`}},
	{field: "verbosity", takes: []string{`"medium"`}},
	{field: "functions", takes: []string{"[]"}, hint: "use tools"},
	{field: "function_call", takes: []string{`"none"`, `"auto"`}, hint: "use tools"},
	{field: "audio"},
	{field: "prediction"},
	{field: "web_search_options"},
	{field: "prompt_cache_retention"},
	{field: "prompt_cache_options"},
	{field: "moderation"},
	{field: "prompt", hint: "it belongs to /v1/completions"},
}

// completionFixed are those of /v1/completions.
var completionFixed = []fixed{
	{field: "best_of", takes: []string{"1"}},
	{field: "suffix", takes: []string{`""`}},
	{field: "messages", hint: "it belongs to /v1/chat/completions"},
	{field: "tools", takes: []string{"[]"}, hint: "it belongs to /v1/chat/completions"},
	{field: "enable_thinking", hint: "it belongs to /v1/chat/completions"},
	{field: "chat_template_kwargs", takes: []string{"{}"}, hint: "it belongs to /v1/chat/completions"},
}

// takeFixed takes the fields of the table out of r and refuses values other than the listed ones.
func takeFixed(r *body.Reader, table []fixed) {
	for _, f := range table {
		v, given := r.Take(f.field)
		if !given || slices.Contains(f.takes, compact(v.Raw)) {
			continue
		}
		message := "is not supported"
		switch len(f.takes) {
		case 0:
		case 1:
			message = "is supported with the value " + f.takes[0] + " only"
		default:
			message = "is supported with the values " + strings.Join(f.takes, ", ") + " only"
		}
		if f.hint != "" {
			message += "; " + f.hint
		}
		r.Fail(f.field, body.CodeUnsupported, "%s", message)
	}
}

// compact strips white space between tokens.
func compact(raw []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw) // not reached: the text was parsed before
	}
	return b.String()
}
