package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/body"
)

// Limits of the Anthropic wire.
const (
	maxStopSequences   = 16
	leastBudget        = 1024 // of thinking tokens, as in the API
	maxAnthropicTemp   = 1
	anthropicVersion   = "Anthropic-Version"
	anthropicRequestID = "Request-Id" // the header in which its SDKs look for the id
)

// anthropicFixed are the fields of /v1/messages with a single possible value.
var anthropicFixed = []fixed{
	{field: "service_tier", takes: []string{`"auto"`, `"standard_only"`}},
	{field: "mcp_servers", takes: []string{"[]"}, hint: "no URL is ever fetched by this server"},
	{field: "container"},
	{field: "context_management"},
	{field: "diagnostics"},
	{field: "inference_geo"},
	{field: "speed", takes: []string{`"standard"`}},
	{field: "max_tokens_to_sample", hint: "use max_tokens"},
	{field: "prompt", hint: "use messages"},
	{field: "n", takes: []string{"1"}, hint: "use /v1/chat/completions"},
	{field: "stop", hint: "use stop_sequences"},
	{field: "response_format", hint: "use /v1/chat/completions"},
}

// countFixed are those of /v1/messages/count_tokens.
var countFixed = []fixed{
	{field: "mcp_servers", takes: []string{"[]"}, hint: "no URL is ever fetched by this server"},
	{field: "context_management"},
	{field: "speed", takes: []string{`"standard"`}},
}

// anthropicJob is a job of the messages route.
type anthropicJob struct {
	*job
	thinking thinkingShown
}

// thinkingShown says what becomes of reasoning on the Anthropic wire.
type thinkingShown uint8

const (
	thinkingHidden  thinkingShown = iota // not asked for: no block
	thinkingOmitted                      // a block without its text
	thinkingText                         // a block with its text
)

// anthropicMessages is POST /v1/messages.
func (s *Server) anthropicMessages(c echo.Context) error {
	id := newID("msg_")
	setRequestID(c, id)
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	j, err := decodeAnthropic(r, s.model, id)
	if err != nil {
		return err
	}
	return s.answer(c, j.job, newAnthropicWire(j))
}

// countTokens is POST /v1/messages/count_tokens.
func (s *Server) countTokens(c echo.Context) error {
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	n, err := decodeCount(r, s.model)
	if err != nil {
		return err
	}
	return s.writeJSON(c, http.StatusOK, map[string]int{"input_tokens": n})
}

// decodeAnthropic turns a body of /v1/messages into a job.
func decodeAnthropic(r *body.Reader, m *Model, id string) (*anthropicJob, error) {
	if v, given := r.Take("temperature"); given && v.Kind == body.Number {
		r.Float("temperature", 0, maxAnthropicTemp)
	}
	shared, err := readShared(r, m, id, "max_tokens")
	if err != nil {
		return nil, err
	}
	j := &anthropicJob{job: shared}
	if !r.Has("max_tokens") {
		r.Fail("max_tokens", body.CodeMissing, "is needed")
	}
	j.request.Stop = readStops(r, "stop_sequences", false, maxStopSequences)
	if meta, given := r.Reader("metadata"); given {
		user, _ := meta.Str("user_id")
		j.request.Label = label(user, nil)
		keepError(r, meta.Close())
	}
	conv := &conversation{}
	j.thinking = j.readConversation(r, conv)
	takeFixed(r, anthropicFixed)
	if err := r.Close(); err != nil {
		return nil, err
	}
	return j, j.setConversation(conv)
}

// decodeCount reads a body of /v1/messages/count_tokens: what makes the prompt, and nothing else.
func decodeCount(r *body.Reader, m *Model) (tokens int, err error) {
	if name, given := r.Str("model"); given && name != m.ID {
		return 0, m.unknown(name)
	}
	conv := &conversation{}
	j := &anthropicJob{job: &job{model: m}}
	j.readConversation(r, conv)
	takeFixed(r, countFixed)
	if err := r.Close(); err != nil {
		return 0, err
	}
	_, ids, err := conv.render(m)
	return len(ids), err
}

// readConversation reads what makes the prompt.
func (j *anthropicJob) readConversation(r *body.Reader, conv *conversation) thinkingShown {
	readCacheControl(r)
	conv.param = "messages"
	conv.messages = readTurns(r)
	readAnthropicTools(r, j.model, conv)
	conv.kwargs = readKwargs(r)
	shown := j.readThinking(r, conv.kwargs)
	if o, given := r.Reader("output_config"); given {
		readEffort(o, "effort", j.model, conv.kwargs)
		readAnthropicFormat(o, conv)
		takeFixed(o, []fixed{{field: "task_budget"}})
		keepError(r, o.Close())
	}
	return shown
}

// readAnthropicFormat reads output_config.format.
func readAnthropicFormat(o *body.Reader, conv *conversation) {
	f, given := o.Reader("format")
	if !given {
		return
	}
	readToolType(f, true, kindSchema)
	conv.format = schemaOf(f)
	keepError(o, f.Close())
}

// readThinking reads thinking. Without it the model is told not to think, as far as its template can tell it.
func (j *anthropicJob) readThinking(r *body.Reader, kwargs map[string]any) thinkingShown {
	t, given := r.Reader("thinking")
	if !given {
		if _, set := kwargs[thinkingKey]; !set {
			kwargs[thinkingKey] = false
		}
		return thinkingHidden
	}
	kind, given := t.Str("type")
	shown := thinkingText
	if display, given := t.Str("display"); given {
		switch display {
		case "omitted":
			shown = thinkingOmitted
		case "summarized": // there is nobody to sum it up: the whole is shown
		default:
			t.Fail("display", body.CodeInvalidValue, "must be 'summarized' or 'omitted', got %q", clip(display, 40))
		}
	}
	switch {
	case !given:
		t.Fail("type", body.CodeMissing, "is needed")
	case kind == "enabled":
		budget, given := t.Int("budget_tokens", leastBudget, 1<<31-1)
		if !given {
			t.Fail("budget_tokens", body.CodeMissing, "is needed when thinking is enabled")
		}
		if j.request != nil && j.request.MaxTokens > 0 && int(budget) >= j.request.MaxTokens {
			t.Fail("budget_tokens", body.CodeInvalidValue, "must be below max_tokens (%d), got %d", j.request.MaxTokens, budget)
		}
		j.budget = int(budget)
	case kind == "adaptive":
	case kind == "disabled":
		shown = thinkingHidden
	default:
		t.Fail("type", body.CodeInvalidValue, "must be 'enabled', 'adaptive' or 'disabled', got %q", clip(kind, 40))
	}
	setKwarg(r, kwargs, "thinking", thinkingKey, kind != "disabled")
	keepError(r, t.Close())
	return shown
}

// readCacheControl takes a caching hint. Prefixes are reused wherever they can be, asked or not, so that it has no effect.
func readCacheControl(r *body.Reader) {
	c, given := r.Reader("cache_control")
	if !given {
		return
	}
	if kind, given := c.Str("type"); given && kind != "ephemeral" {
		c.Fail("type", body.CodeInvalidValue, "must be 'ephemeral', got %q", clip(kind, 40))
	}
	if ttl, given := c.Str("ttl"); given && !slices.Contains([]string{"5m", "1h"}, ttl) {
		c.Fail("ttl", body.CodeInvalidValue, "must be '5m' or '1h', got %q", clip(ttl, 40))
	}
	keepError(r, c.Close())
}

// readAnthropicTools reads tools and tool_choice.
func readAnthropicTools(r *body.Reader, m *Model, conv *conversation) {
	readTools(r, conv, readAnthropicTool, ".name")
	if choice, given := r.Reader("tool_choice"); given {
		switch kind, given := choice.Str("type"); {
		case !given:
			choice.Fail("type", body.CodeMissing, "is needed")
		case kind == "none":
			conv.tools = nil
		case kind == "auto":
		case kind == "any":
			conv.required = true
		case kind == "tool":
			conv.only = readToolName(choice)
		default:
			choice.Fail("type", body.CodeInvalidValue, "must be auto, any, tool or none, got %q", clip(kind, 40))
		}
		if one, _ := choice.Bool("disable_parallel_tool_use"); one {
			if conv.oneCall = true; m.callEnd() < 0 {
				choice.Fail("disable_parallel_tool_use", body.CodeUnsupported, "is not supported: this model has no token that ends a tool call")
			}
		}
		keepError(r, choice.Close())
	}
}

// readAnthropicTool checks one tool and gives its OpenAI form.
func readAnthropicTool(item *body.Value, path string) (tool, error) {
	t, err := body.Read(item, path)
	if err != nil {
		return tool{}, err
	}
	readToolType(t, false, "custom")
	name := readToolName(t)
	description, _ := t.Str("description")
	schema, given := t.Object("input_schema")
	if !given {
		t.Fail("input_schema", body.CodeMissing, "is needed")
		return tool{}, t.Close()
	}
	readCacheControl(t)
	strict, _ := t.Bool("strict")
	t.Bool("eager_input_streaming") // arguments are always streamed as they are made
	takeFixed(t, []fixed{{field: "defer_loading", takes: []string{"false"}}, {field: "input_examples", takes: []string{"[]"}},
		{field: "allowed_callers", takes: []string{`["direct"]`}}})
	return functionTool(name, description, schema.Raw, strict), t.Close()
}

// isAnthropic reports whether a request speaks the Anthropic wire, for answers that have no route of their own.
func isAnthropic(r *http.Request) bool {
	p := r.URL.Path
	return p == "/v1/messages" || strings.HasPrefix(p, "/v1/messages/") || r.Header.Get(anthropicVersion) != ""
}
