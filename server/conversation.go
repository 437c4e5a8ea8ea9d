package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/server/body"
)

// conversation is what a chat wire hands to the template, in the form templates expect: OpenAI's, with the arguments of
// tool calls as objects.
type conversation struct {
	messages []json.RawMessage
	tools    json.RawMessage // nil: the model is told of none
	names    map[string]bool // of the tools
	kwargs   map[string]any
	param    string // the field that is to blame when the template refuses it

	oneCall  bool        // the answer ends with its first tool call
	required bool        // the answer is tool calls
	only     string      // the answer is a call of this function
	strict   bool        // some tool's arguments are to be enforced
	format   *constraint // what text is held to; nil: nothing
}

// render gives the prompt.
func (c *conversation) render(m *Model) (text string, ids []int32, err error) {
	if m.Template == nil {
		return "", nil, refuse(http.StatusBadRequest, typeInvalid, "no_chat_template", c.param,
			"the model %q has no chat template; use /v1/completions", m.ID)
	}
	text, err = m.Template.Render(chat.Input{Messages: c.messages, Tools: c.tools, Kwargs: c.kwargs, AddGenerationPrompt: true})
	if err != nil {
		return "", nil, c.refused(err)
	}
	if ids, err = m.encode(text, c.param, m.Context, true); err != nil {
		return "", nil, err
	}
	return text, ids, nil
}

// refused tells what the template said of the messages. Its text is the pack's own.
func (c *conversation) refused(err error) error {
	var re *chat.RenderError
	if errors.As(err, &re) {
		return refuse(http.StatusBadRequest, typeInvalid, "chat_template", c.param, "the chat template refuses the messages: %v", re)
	}
	return refuse(http.StatusBadRequest, typeInvalid, "chat_template", c.param, "the chat template cannot take this request: %v", err)
}

// setConversation gives the job its prompt.
func (j *job) setConversation(c *conversation) error {
	text, ids, err := c.render(j.model)
	if err != nil {
		return err
	}
	schemas, err := chat.ToolSchemas(c.tools)
	if err != nil {
		return body.Errorf("tools", body.CodeInvalidValue, "cannot be read: %v", err)
	}
	j.tools = c.tools
	inThink := chat.InThink(text)
	if err := j.hold(c, inThink); err != nil {
		return err
	}
	if j.budget > 0 && inThink {
		if j.request.Budget, err = j.model.budget(j.budget); err != nil {
			return err
		}
	}
	if c.oneCall && c.tools != nil && (j.limit == nil || j.limit.Max != 1) {
		j.request.OneCall = true
	}
	return j.setPrompts(chat.ParserOptions{InThink: inThink, Tools: schemas}, prompt{ids, c.param})
}

// thinkEnd is how the templates end reasoning.
const thinkEnd = "\n</think>\n\n"

// budget forces the end of reasoning after so many tokens.
func (m *Model) budget(tokens int) (*grammar.Budget, error) {
	end, err := m.Tokenizer.Encode(thinkEnd)
	if err != nil {
		return nil, err
	}
	closing, ok := m.Tokenizer.ID("</think>")
	if !ok || !m.Tokenizer.Added(closing) || !slices.Contains(end, closing) || len(end) >= tokens {
		return nil, body.Errorf("thinking.budget_tokens", body.CodeUnsupported,
			"is not supported: this model has no token that ends its reasoning; use type 'adaptive'")
	}
	return &grammar.Budget{Tokens: tokens, End: end, Close: closing}, nil
}

// callEnd is the token that ends a tool call, -1 if the vocabulary has none of its own for it.
func (m *Model) callEnd() int32 {
	id, ok := m.Tokenizer.ID("</tool_call>")
	if !ok || !m.Tokenizer.Added(id) {
		return -1
	}
	return id
}
