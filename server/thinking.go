package server

import (
	"encoding/json"
	"slices"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/jinja"
	"github.com/flashlane/flashlane/server/body"
)

// Names of template variables that request fields set.
const (
	thinkingKey = "enable_thinking"
	effortKey   = "reasoning_effort"
)

// efforts are the levels a client may ask for, weakest first. "none" is apart: it switches thinking off.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// templateOwn are the names that rendering sets itself.
var templateOwn = []string{"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"}

// readKwargs reads chat_template_kwargs and enable_thinking, which is short for the member of that name.
func readKwargs(r *body.Reader) map[string]any {
	const field = "chat_template_kwargs"
	kwargs := map[string]any{}
	if v, given := r.Object("chat_template_kwargs"); given {
		for _, m := range v.Members {
			path := body.Path(field, m.Name)
			if slices.Contains(templateOwn, m.Name) {
				r.Fail(path, body.CodeInvalidValue, "is set by the server")
			}
			value, err := jinja.FromJSON(m.Value.Raw) // keeps the order of members, and integers apart from other numbers
			if err != nil {
				r.Fail(path, body.CodeInvalidValue, "cannot be handed to the chat template: %v", err)
			}
			kwargs[m.Name] = value
		}
		if inner, ok := v.Get(thinkingKey); ok && inner.Kind != body.Bool {
			r.Fail(body.Path(field, thinkingKey), body.CodeInvalidType, "must be a boolean, got %s", inner.Kind)
		}
	}
	if think, given := r.Bool("enable_thinking"); given {
		setKwarg(r, kwargs, thinkingKey, thinkingKey, think)
	}
	return kwargs
}

// setKwarg sets a template variable for a field; another value of it from elsewhere in the request is a contradiction.
func setKwarg(r *body.Reader, kwargs map[string]any, field, name string, value any) {
	if other, ok := kwargs[name]; ok && other != value {
		r.Fail(field, body.CodeInvalidValue, "asks for %s %v, but another field of the request for %v", name, value, other)
		return
	}
	kwargs[name] = value
}

// readEffort reads a field that says how long to think. r is the object that has the field, top the request itself.
func readEffort(r *body.Reader, field string, m *Model, kwargs map[string]any) (level string) {
	level, given := r.Str(field)
	if !given {
		return ""
	}
	if level == "none" {
		setKwarg(r, kwargs, field, thinkingKey, false)
		return level
	}
	if !slices.Contains(efforts, level) {
		r.Fail(field, body.CodeInvalidValue, "must be none, minimal, low, medium, high, xhigh or max, got %q", clip(level, 40))
		return ""
	}
	word := m.effort(level)
	if word == "" {
		r.Fail(field, body.CodeUnsupported, "is not supported: this model's chat template knows no reasoning effort; use enable_thinking")
		return ""
	}
	setKwarg(r, kwargs, field, effortKey, word)
	return level
}

// effort is the word of the model's own template for a level: the level itself, or, if the template refuses that, the next
// stronger one that it takes, else the next weaker. "" when the template does not care: its prompts are the same whatever
// the effort. The template is asked, not read: a comment that mentions the name would not make it heard.
func (m *Model) effort(level string) string {
	plain, ok := m.probe("")
	if !ok {
		return ""
	}
	heard := false
	taken := map[string]bool{}
	for _, e := range efforts {
		text, ok := m.probe(e)
		taken[e] = ok
		heard = heard || !ok || text != plain
	}
	if !heard {
		return ""
	}
	at := slices.Index(efforts, level)
	for _, e := range efforts[at:] {
		if taken[e] {
			return e
		}
	}
	for i := at - 1; i >= 0; i-- {
		if taken[efforts[i]] {
			return efforts[i]
		}
	}
	return ""
}

// probe renders a minimal conversation with an effort ("" for none); false when the template refuses it.
func (m *Model) probe(effort string) (string, bool) {
	if m.Template == nil {
		return "", false
	}
	kwargs := map[string]any{}
	if effort != "" {
		kwargs[effortKey] = effort
	}
	text, err := m.Template.Render(chat.Input{AddGenerationPrompt: true, Kwargs: kwargs,
		Messages: []json.RawMessage{[]byte(`{"role":"system","content":"s"}`), []byte(`{"role":"user","content":"u"}`)}})
	return text, err == nil
}
