package server

import (
	"math"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/server/body"
)

// Values of include that say something here.
const (
	includeLogprobs  = "message.output_text.logprobs"
	includeReasoning = "reasoning.encrypted_content"
)

// responsesFixed are the fields of /v1/responses with a single possible value. What needs stored state is among them.
var responsesFixed = []fixed{
	{field: "store", takes: []string{"false"}, hint: "nothing is stored here"},
	{field: "previous_response_id", hint: "nothing is stored here; send the whole conversation in input"},
	{field: "conversation", hint: "nothing is stored here; send the whole conversation in input"},
	{field: "background", takes: []string{"false"}, hint: "nothing is stored here"},
	{field: "prompt", hint: "nothing is stored here"},
	{field: "context_management"},
	{field: "truncation", takes: []string{`"disabled"`}},
	{field: "service_tier", takes: []string{`"auto"`, `"default"`}},
	{field: "max_tool_calls", hint: "the server calls no tools itself"},
	{field: "moderation"},
	{field: "prompt_cache_retention"},
	{field: "prompt_cache_options"},
	{field: "access_programs"},
	{field: "image"},
	{field: "cyber"},
	{field: "messages", hint: "use input, or /v1/chat/completions"},
	{field: "max_tokens", hint: "use max_output_tokens"},
	{field: "n", takes: []string{"1"}, hint: "use /v1/chat/completions"},
	{field: "response_format", hint: "use text.format"},
}

// responsesJob is a job of the responses route and what its answer repeats of the request.
type responsesJob struct {
	*job
	echo   responsesEcho
	sealed bool // reasoning items carry encrypted_content
	rated  bool // include names logprobs
}

// responsesEcho are the settings that a response object repeats.
type responsesEcho struct {
	Instructions *string         `json:"instructions"`
	MaxOutput    *int            `json:"max_output_tokens"`
	Metadata     rawJSON         `json:"metadata"`
	Parallel     bool            `json:"parallel_tool_calls"`
	Reasoning    reasoningEcho   `json:"reasoning"`
	Temperature  float64         `json:"temperature"`
	TopP         float64         `json:"top_p"`
	TopLogprobs  int             `json:"top_logprobs"`
	Text         responsesFormat `json:"text"`
	ToolChoice   rawJSON         `json:"tool_choice"`
	Tools        rawJSON         `json:"tools"`
	User         *string         `json:"user"`
	CacheKey     *string         `json:"prompt_cache_key"`
}

type reasoningEcho struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type responsesFormat struct {
	Format    rawJSON `json:"format"`
	Verbosity string  `json:"verbosity"`
}

// rawJSON is a client's own JSON text, given back as it came.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// responses is POST /v1/responses.
func (s *Server) responses(c echo.Context) error {
	id := newID("resp_")
	setRequestID(c, id)
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	j, err := decodeResponses(r, s.model, id)
	if err != nil {
		return err
	}
	j.created = time.Now().Unix()
	return s.answer(c, j.job, newResponsesWire(j))
}

// decodeResponses turns a body of /v1/responses into a job.
func decodeResponses(r *body.Reader, m *Model, id string) (*responsesJob, error) {
	shared, err := readShared(r, m, id, "max_output_tokens")
	if err != nil {
		return nil, err
	}
	j := &responsesJob{job: shared}
	if limit := j.request.MaxTokens; limit > 0 {
		j.echo.MaxOutput = &limit
	}
	readStreamOptions(r, j.stream, false)
	j.readClient(r)
	if user, given := r.Str("user"); given {
		j.echo.User = &user
	}
	if key, given := r.Str("prompt_cache_key"); given {
		j.echo.CacheKey = &key
	}
	j.request.Stop = readStop(r)
	conv := &conversation{param: "input", messages: j.readInput(r)}
	j.readTools(r, conv)
	conv.kwargs = readKwargs(r)
	j.readReasoning(r, conv.kwargs)
	j.readText(r, conv)
	j.readInclude(r)
	takeFixed(r, responsesFixed)
	if err := r.Close(); err != nil {
		return nil, err
	}
	p := j.request.Sampling
	j.echo.Temperature, j.echo.TopP, j.echo.Parallel = p.Temperature, p.TopP, !conv.oneCall
	if p.TopP == math.SmallestNonzeroFloat64 {
		j.echo.TopP = 0 // as it was asked for
	}
	if j.echo.Metadata = j.metadata; j.metadata == nil {
		j.echo.Metadata = rawJSON("{}")
	}
	return j, j.setConversation(conv)
}

// readReasoning reads reasoning.
func (j *responsesJob) readReasoning(r *body.Reader, kwargs map[string]any) {
	o, given := r.Reader("reasoning")
	if !given {
		return
	}
	if level := readEffort(o, "effort", j.model, kwargs); level != "" {
		j.echo.Reasoning.Effort = &level
	}
	// A summary is never made: the reasoning itself is in the answer. "auto" leaves it to the server.
	takeFixed(o, []fixed{{field: "summary", takes: []string{`"auto"`}, hint: "the reasoning itself is in the answer"},
		{field: "generate_summary", hint: "the reasoning itself is in the answer"}})
	keepError(r, o.Close())
}

// readText reads text, the format of the answer.
func (j *responsesJob) readText(r *body.Reader, conv *conversation) {
	j.echo.Text = responsesFormat{Format: rawJSON(`{"type":"text"}`), Verbosity: "medium"}
	o, given := r.Reader("text")
	if !given {
		return
	}
	if v, given := o.Take("format"); given {
		j.echo.Text.Format = slices.Clone(v.Raw)
	}
	readFormat(o, "format", true, conv)
	takeFixed(o, []fixed{{field: "verbosity", takes: []string{`"medium"`}}})
	keepError(r, o.Close())
}

// readInclude reads include and top_logprobs.
func (j *responsesJob) readInclude(r *body.Reader) {
	items, _ := r.Array("include")
	for i, item := range items {
		switch item.Text {
		case includeLogprobs:
			j.rated = true
		case includeReasoning:
			j.sealed = true
		default:
			r.Fail(body.Index("include", i), body.CodeUnsupported, "must be '%s' or '%s'", includeLogprobs, includeReasoning)
		}
	}
	top, given := r.Int("top_logprobs", 0, sample.MaxTopLogprobs)
	if given && top > 0 && !j.rated {
		r.Fail("top_logprobs", body.CodeInvalidValue, "is only allowed when 'include' has '%s'", includeLogprobs)
	}
	j.echo.TopLogprobs = int(top)
	if j.rated {
		j.rate(int(top))
	}
}

// readTools reads tools, tool_choice and parallel_tool_calls.
func (j *responsesJob) readTools(r *body.Reader, conv *conversation) {
	readTools(r, conv, readResponsesTool, ".name")
	j.echo.ToolChoice, j.echo.Tools = rawJSON(`"auto"`), rawJSON("[]")
	if v, given := r.Take("tools"); given {
		j.echo.Tools = slices.Clone(v.Raw)
	}
	if v, given := r.Take("tool_choice"); given {
		j.echo.ToolChoice = slices.Clone(v.Raw)
	}
	conv.oneCall = readParallel(r, j.model)
	readToolChoice(r, conv, true)
}

// readResponsesTool checks one tool, which is flat here, and gives its OpenAI chat form.
func readResponsesTool(item *body.Value, path string) (tool, error) {
	t, err := body.Read(item, path)
	if err != nil {
		return tool{}, err
	}
	readToolType(t, true, "function")
	name := readToolName(t)
	description, _ := t.Str("description")
	var parameters []byte
	if v, given := t.Object("parameters"); given {
		parameters = v.Raw
	}
	strict, _ := t.Bool("strict")
	return functionTool(name, description, parameters, strict), t.Close()
}
