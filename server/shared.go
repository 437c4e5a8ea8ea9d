package server

import (
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/server/body"
)

// maxChoices bounds n times the number of prompts (OpenAI's limit of n).
const maxChoices = 128

// job is what one HTTP request asks for, ready to be submitted, and what its answer needs to know about it.
type job struct {
	id       string
	request  *intake.Request   // what all choices share; after setPrompts it is choices[0]
	choices  []*intake.Request // one per prompt and n, prompt by prompt
	replays  []Replay          // one per choice
	n        int               // choices per prompt
	model    *Model
	created  int64
	stream   bool
	usage    bool   // stream_options.include_usage
	metadata []byte // raw object, nil when absent

	seedGiven bool
	tools     []byte      // as the chat template got them, nil: none
	limit     *constraint // what the answer is held to, nil: nothing
	budget    int         // thinking tokens the client wished for, 0: no wish
}

// readShared reads the fields that all generation routes have. maxTokens are the names under which the route takes
// the length limit. Prompt, Parse and the limit against the context are left to the caller.
func readShared(r *body.Reader, m *Model, id string, maxTokens ...string) (*job, error) {
	if name, given := r.Str("model"); given && name != m.ID {
		return nil, m.unknown(name)
	}
	j := &job{id: id, n: 1, model: m, request: &intake.Request{ID: id}}
	q := j.request
	j.stream, _ = r.Bool("stream")
	q.MaxTokens = readMaxTokens(r, maxTokens...)
	q.Sampling, j.seedGiven = readSampling(r, m)
	q.Depth, q.Rule = readDrafting(r, m)
	return j, nil
}

// readClient reads what OpenAI's wires say of the client: for the log, and back in the answer.
func (j *job) readClient(r *body.Reader) {
	j.metadata = readMetadata(r)
	user, _ := r.Str("user")
	if safety, given := r.Str("safety_identifier"); given && user == "" {
		user = safety
	}
	j.request.Label = label(user, j.metadata)
	r.Str("prompt_cache_key") // a hint for fleets: which of many servers to ask; here is one
}

// readStreamOptions reads stream_options, which only a stream may have.
func readStreamOptions(r *body.Reader, stream, usage bool) (include bool) {
	o, given := r.Reader("stream_options")
	if !given {
		return false
	}
	if !stream {
		r.Fail("stream_options", body.CodeInvalidValue, "is only allowed when 'stream' is true")
		return false
	}
	if usage {
		include, _ = o.Bool("include_usage")
	}
	takeFixed(o, []fixed{{field: "include_obfuscation", takes: []string{"false"}}})
	keepError(r, o.Close())
	return include
}

// readMetadata checks OpenAI's limits: up to 16 strings of up to 512 bytes under names of up to 64.
func readMetadata(r *body.Reader) []byte {
	v, given := r.Object("metadata")
	if !given {
		return nil
	}
	if len(v.Members) > 16 {
		r.Fail("metadata", body.CodeInvalidValue, "has %d entries, at most 16 are taken", len(v.Members))
	}
	for _, m := range v.Members {
		name := "metadata." + m.Name
		switch {
		case m.Value.Kind != body.String:
			r.Fail(name, body.CodeInvalidType, "must be a string, got %s", m.Value.Kind)
		case len(m.Name) > 64 || len(m.Value.Text) > 512:
			r.Fail("metadata", body.CodeInvalidValue, "has a name of more than 64 or a value of more than 512 bytes")
		}
	}
	return v.Raw
}

// label is what the log calls the request's client.
func label(user string, metadata []byte) string {
	parts := []string{}
	if user != "" {
		parts = append(parts, "user="+clip(user, 128))
	}
	if len(metadata) > 2 {
		parts = append(parts, "metadata="+clip(compact(metadata), 512))
	}
	return strings.Join(parts, " ")
}

// clip bounds a client's text to n bytes without cutting a character in two.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// prompt is one prompt and the field it came from.
type prompt struct {
	ids   []int32
	param string
}

// setPrompts gives the job its prompts, the limits that follow from their length, and a request per choice. The request
// of a single choice has the job's id; others count on from it.
func (j *job) setPrompts(parse chat.ParserOptions, prompts ...prompt) error {
	if total := j.n * len(prompts); total > maxChoices {
		return body.Errorf("n", body.CodeInvalidValue, "times the number of prompts comes to %d answers, at most %d are given", total, maxChoices)
	}
	shared := *j.request
	kept := 0 // prompt ids that the answer repeats, in all
	for _, p := range prompts {
		most, err := j.model.room(p)
		if err != nil {
			return err
		}
		for c := range j.n {
			q := shared
			if at := len(j.choices); at > 0 {
				q.ID = fmt.Sprintf("%s-%d", j.id, at)
			}
			q.Prompt, q.Parse, q.Sampling.Choice = p.ids, parse, uint32(c)
			switch {
			case q.ScoreOnly:
				q.MaxTokens = 1 // it makes none; this much room is there
			case q.MaxTokens == 0 || q.MaxTokens > most:
				q.MaxTokens = most // a limit above what is possible is kept by keeping the possible
			}
			j.choices = append(j.choices, &q)
			r := newReplay(j, &q)
			if kept += len(r.PromptIDs); kept > maxReplayPrompt {
				r.PromptIDs = nil // many choices do not make a long answer of a short one
			}
			j.replays = append(j.replays, r)
		}
	}
	j.request = j.choices[0]
	return nil
}

// room is the most tokens that an answer to p can have.
func (m *Model) room(p prompt) (most int, err error) {
	if len(p.ids) == 0 {
		return 0, body.Errorf(p.param, body.CodeInvalidValue, "comes to no tokens: there is nothing to go on from")
	}
	if len(p.ids) >= m.Context {
		return 0, refuse(400, typeInvalid, "context_length_exceeded", p.param,
			"this model's context holds %d tokens, and the prompt has %d; at least one must be left for the answer", m.Context, len(p.ids))
	}
	return min(m.maxOutput(), m.Context-len(p.ids)), nil
}
