package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/engine/jinja"
)

// Template renders conversations as the pack's own chat template says. It is immutable and safe for concurrent use.
type Template struct {
	parsed *jinja.Template
	tokens map[string]any // bos_token, eos_token ... that templates may name
}

// Input is one conversation to render.
type Input struct {
	Messages            []json.RawMessage // one JSON object each, in the OpenAI form; the order of members is kept
	Tools               json.RawMessage   // a JSON array as the client sent it; empty: none
	Kwargs              map[string]any    // further variables, such as enable_thinking; values as jinja.FromGo takes them
	AddGenerationPrompt bool              // end with the opening of the assistant's turn
}

// RenderError says why a template cannot render what a client sent: a 400.
type RenderError struct {
	Message string // for the client; names the field where the fault is one field's
	Raised  bool   // the template's own words (raise_exception)
	err     error
}

// Error gives the message.
func (e *RenderError) Error() string { return e.Message }

// Unwrap gives the *jinja.Error behind it, if there is one.
func (e *RenderError) Unwrap() error { return e.err }

func refuse(format string, args ...any) error {
	return &RenderError{Message: fmt.Sprintf(format, args...)}
}

// OpenTemplate reads a pack's template: the contents of chat_template.jinja if there is such a file (source), else what
// tokenizer_config.json (config) holds as chat_template. A pack without either has no template: nil and no error.
func OpenTemplate(source, config []byte) (*Template, error) {
	src := string(source)
	if len(source) == 0 {
		var err error
		if src, err = configured(config); err != nil || src == "" {
			return nil, err
		}
	}
	return NewTemplate(src, config)
}

// NewTemplate parses a template's source. config is tokenizer_config.json (or empty), for the tokens templates may name.
func NewTemplate(src string, config []byte) (*Template, error) {
	parsed, err := jinja.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("chat: chat template: %w", err)
	}
	tokens, err := namedTokens(config)
	if err != nil {
		return nil, err
	}
	return &Template{parsed, tokens}, nil
}

// configured finds the template in tokenizer_config.json: a text, or a list of named ones of which "default" is taken.
func configured(config []byte) (string, error) {
	if len(config) == 0 {
		return "", nil
	}
	var f struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return "", fmt.Errorf("chat: tokenizer_config.json: %w", err)
	}
	if len(f.ChatTemplate) == 0 || string(f.ChatTemplate) == "null" {
		return "", nil
	}
	var src string
	if json.Unmarshal(f.ChatTemplate, &src) == nil {
		return src, nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(f.ChatTemplate, &list); err != nil {
		return "", fmt.Errorf("chat: tokenizer_config.json: chat_template: want a text or a list of named ones: %w", err)
	}
	for _, t := range list {
		if t.Name == "default" {
			return t.Template, nil
		}
	}
	return "", fmt.Errorf("chat: tokenizer_config.json: chat_template: none of the %d templates is named \"default\"", len(list))
}

// namedTokens collects the tokens that tokenizer_config.json names by role; templates see those that are not null.
func namedTokens(config []byte) (map[string]any, error) {
	out := map[string]any{}
	if len(config) == 0 {
		return out, nil
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(config, &f); err != nil {
		return nil, fmt.Errorf("chat: tokenizer_config.json: %w", err)
	}
	for _, role := range []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		var s *string
		var o struct{ Content *string }
		switch raw := f[role]; {
		case len(raw) == 0:
		case json.Unmarshal(raw, &s) == nil:
			if s != nil {
				out[role] = *s
			}
		case json.Unmarshal(raw, &o) == nil && o.Content != nil:
			out[role] = *o.Content
		default:
			return nil, fmt.Errorf("chat: tokenizer_config.json: %s: want a token, got %.40s", role, raw)
		}
	}
	return out, nil
}

// own are the names that Render sets itself.
var own = []string{"messages", "tools", "documents", "add_generation_prompt"}

// Render gives the prompt of a conversation. An error that the client can mend is a *RenderError.
func (t *Template) Render(in Input) (string, error) {
	vars := make(map[string]any, len(t.tokens)+len(in.Kwargs)+len(own))
	for k, v := range t.tokens {
		vars[k] = v
	}
	for k, v := range in.Kwargs {
		if slices.Contains(own, k) {
			return "", refuse("the template variable %q is set by the server", k)
		}
		x, err := jinja.FromGo(v)
		if err != nil {
			return "", refuse("template variable %q: %v", k, err)
		}
		vars[k] = x
	}
	messages, err := readMessages(in.Messages)
	if err != nil {
		return "", err
	}
	vars["messages"], vars["add_generation_prompt"] = messages, in.AddGenerationPrompt
	vars["tools"], vars["documents"] = nil, nil // defined, and None: as the reference passes them
	if len(in.Tools) > 0 {
		tools, err := jinja.FromJSON(in.Tools)
		if err != nil {
			return "", refuse("tools: %v", err)
		}
		if list, ok := tools.(jinja.List); ok && len(list) > 0 {
			vars["tools"] = list
		} else if !ok && tools != nil {
			return "", refuse("tools: want an array")
		}
	}
	text, err := t.parsed.Render(vars)
	var e *jinja.Error
	switch {
	case errors.As(err, &e):
		return "", &RenderError{e.Error(), e.Raised, err}
	case err != nil:
		return "", fmt.Errorf("chat: %w", err)
	}
	return text, nil
}

// InThink tells whether a rendered prompt ends inside an open <think> block, so that the answer begins with reasoning. Only the
// assistant's turn that the prompt opens counts: what users write of tags does not.
func InThink(prompt string) bool {
	const turn = "<|im_start|>assistant"
	i := strings.LastIndex(prompt, turn)
	if i < 0 {
		return strings.HasSuffix(strings.TrimRight(prompt, " \t\r\n"), openThink)
	}
	open := prompt[i:]
	return strings.LastIndex(open, openThink) > strings.LastIndex(open, closeThink)
}
