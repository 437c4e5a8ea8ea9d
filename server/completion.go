package server

import (
	"math"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/server/body"
)

// completionTokens is the limit of /v1/completions when the request names none, as in the OpenAI API.
const completionTokens = 16

// completions is POST /v1/completions.
func (s *Server) completions(c echo.Context) error {
	id := newID("cmpl-")
	setRequestID(c, id)
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	j, err := decodeCompletion(r, s.model, id)
	if err != nil {
		return err
	}
	j.created = time.Now().Unix()
	return s.answer(c, j.job, newCompletionWire(j))
}

// textJob is a job of the completions route.
type textJob struct {
	*job
	echo bool // the prompt's text comes first
}

// decodeCompletion turns a request body into a job: the prompt goes to the model as it is, everything that comes back
// is text.
func decodeCompletion(r *body.Reader, m *Model, id string) (*textJob, error) {
	shared, err := readShared(r, m, id)
	if err != nil {
		return nil, err
	}
	j := &textJob{job: shared}
	q := j.request
	j.usage = readStreamOptions(r, j.stream, true)
	j.readClient(r)
	q.Stop = readStop(r)
	j.readChoices(r)
	j.echo, _ = r.Bool("echo")
	if top, given := r.Int("logprobs", 0, sample.MaxTopLogprobs); given {
		j.rate(int(top))
		q.Score = j.echo
	}
	q.MaxTokens = completionTokens
	if most, given := r.Int("max_tokens", 0, math.MaxInt32); given {
		q.MaxTokens = int(most)
		if most == 0 {
			if !j.echo {
				r.Fail("max_tokens", body.CodeInvalidValue, "may be 0 only with 'echo': else there is nothing to answer")
			}
			q.Score, q.ScoreOnly = true, true
		}
	}
	if newer, given := r.Int("max_completion_tokens", 1, math.MaxInt32); given {
		if r.Has("max_tokens") && q.MaxTokens != int(newer) {
			r.Fail("max_tokens", body.CodeInvalidValue, "is %d but max_completion_tokens is %d: give one, or the same twice", q.MaxTokens, newer)
		}
		q.MaxTokens = int(newer)
	}
	value, given := r.Take("prompt")
	if !given {
		r.Fail("prompt", body.CodeMissing, "is needed: a string, an array of token ids, or an array of these")
	}
	takeFixed(r, completionFixed)
	if err := r.Close(); err != nil {
		return nil, err
	}
	prompts, err := readPrompts(value, m)
	if err != nil {
		return nil, err
	}
	return j, j.setPrompts(chat.ParserOptions{Plain: true}, prompts...)
}

// readPrompts reads a prompt or a list of them.
func readPrompts(v *body.Value, m *Model) ([]prompt, error) {
	const field = "prompt"
	if v.Kind != body.Array || len(v.Items) == 0 || (v.Items[0].Kind != body.String && v.Items[0].Kind != body.Array) {
		ids, err := promptIDs(v, m, field)
		return []prompt{{ids, field}}, err
	}
	if len(v.Items) > maxChoices {
		return nil, body.Errorf(field, body.CodeInvalidValue, "has %d prompts, at most %d are taken", len(v.Items), maxChoices)
	}
	var out []prompt
	for i, item := range v.Items {
		p := prompt{param: body.Index(field, i)}
		var err error
		if p.ids, err = promptIDs(item, m, p.param); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// promptIDs reads one prompt: a string or an array of token ids.
func promptIDs(v *body.Value, m *Model, path string) ([]int32, error) {
	switch {
	case v.Kind == body.String:
		return m.encode(v.Text, path, m.Context, true)
	case v.Kind != body.Array:
		return nil, body.Errorf(path, body.CodeInvalidType, "must be a string or an array of token ids, got %s", v.Kind)
	case len(v.Items) == 0:
		return nil, body.Errorf(path, body.CodeInvalidValue, "is empty")
	}
	return tokenIDs(v.Items, m, path)
}

// tokenIDs reads ids that the vocabulary has.
func tokenIDs(items []*body.Value, m *Model, path string) ([]int32, error) {
	ids := make([]int32, len(items))
	for i, item := range items {
		id, err := body.Integer(item)
		switch {
		case item.Kind != body.Number:
			return nil, body.Errorf(body.Index(path, i), body.CodeInvalidType, "must be a token id, got %s", item.Kind)
		case err != "":
			return nil, body.Errorf(body.Index(path, i), body.CodeInvalidValue, "%s", err)
		case id < 0 || id >= int64(m.Vocab.Size()) || !m.Vocab.Known(int32(id)):
			return nil, body.Errorf(body.Index(path, i), body.CodeInvalidValue, "is no token id of the vocabulary (0 to %d), got %d", m.Vocab.Size()-1, id)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}
