package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
)

// maxReplayPrompt is the longest prompt whose ids an answer repeats. Of longer ones it has the digest only, and
// replaying them needs the ids from elsewhere.
const maxReplayPrompt = 8192

// ErrReplay is wrapped when a saved answer cannot be run again.
var ErrReplay = errors.New("server: answer cannot be replayed")

// Replay is everything that a request's tokens and text depend on, apart from the pack and the device kind.
type Replay struct {
	Model        string          `json:"model"`
	PromptIDs    []int32         `json:"prompt_ids,omitempty"`
	PromptTokens int             `json:"prompt_tokens"`
	PromptSHA    string          `json:"prompt_sha256"` // of the ids, little-endian int32
	Temperature  float64         `json:"temperature"`
	TopP         float64         `json:"top_p"`
	TopK         int             `json:"top_k"`
	MinP         float64         `json:"min_p"`
	Presence     float64         `json:"presence_penalty"`
	Frequency    float64         `json:"frequency_penalty"`
	Repetition   float64         `json:"repetition_penalty"`
	Bias         []replayBias    `json:"logit_bias,omitempty"`
	Seed         uint64          `json:"seed"`
	Choice       uint32          `json:"choice,omitempty"`
	Stop         []string        `json:"stop,omitempty"`
	StopIDs      []int32         `json:"stop_ids,omitempty"`
	OneCall      bool            `json:"one_call,omitempty"`
	MaxTokens    int             `json:"max_tokens"`
	Depth        int             `json:"depth"`
	Acceptance   string          `json:"acceptance"`
	InThink      bool            `json:"in_think,omitempty"`
	Plain        bool            `json:"plain,omitempty"`
	Tools        json.RawMessage `json:"tools,omitempty"` // as sent: argument types follow from them
	Constraint   *constraint     `json:"constraint,omitempty"`
	Budget       *grammar.Budget `json:"thinking_budget,omitempty"`
	ScoreOnly    bool            `json:"score_only,omitempty"` // nothing was generated
}

type replayBias struct {
	ID  int32   `json:"id"`
	Add float32 `json:"add"`
}

// newReplay takes over the settings of one of the job's requests, whose prompt and limits are set.
func newReplay(j *job, q *intake.Request) (p Replay) {
	s := q.Sampling
	p.Model, p.PromptTokens, p.PromptSHA, p.Tools = j.model.ID, len(q.Prompt), idsDigest(q.Prompt), j.tools
	p.Constraint, p.Budget = j.limit, q.Budget
	if len(q.Prompt) <= maxReplayPrompt {
		p.PromptIDs = q.Prompt
	}
	p.Temperature, p.TopP, p.TopK, p.MinP = s.Temperature, s.TopP, s.TopK, s.MinP
	p.Presence, p.Frequency, p.Repetition = s.Presence, s.Frequency, s.Repetition
	for _, b := range s.Bias {
		p.Bias = append(p.Bias, replayBias(b))
	}
	p.Seed, p.Choice = s.Seed, s.Choice
	p.Stop, p.StopIDs, p.OneCall, p.MaxTokens = q.Stop, q.StopIDs, q.OneCall, q.MaxTokens
	p.Depth, p.Acceptance = q.Depth, q.Rule.String()
	p.InThink, p.Plain, p.ScoreOnly = q.Parse.InThink, q.Parse.Plain, q.ScoreOnly
	return p
}

// idsDigest is the hex SHA-256 of ids as little-endian int32.
func idsDigest(ids []int32) string {
	h := sha256.New()
	var b [4]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint32(b[:], uint32(id))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Request is RequestIn for answers that were not held to a grammar.
func (p *Replay) Request() (*intake.Request, error) { return p.RequestIn(nil) }

// RequestIn makes the request anew, under a fresh id; g are the model's grammars. ErrReplay (wrapped) when the prompt was too long
// to be kept or does not match its digest, or when the answer was held to a grammar and g is nil.
func (p *Replay) RequestIn(g *Grammars) (*intake.Request, error) {
	if len(p.PromptIDs) == 0 {
		return nil, fmt.Errorf("%w: its prompt of %d tokens was too long to be kept in it (at most %d)", ErrReplay, p.PromptTokens, maxReplayPrompt)
	}
	if got := idsDigest(p.PromptIDs); got != p.PromptSHA {
		return nil, fmt.Errorf("%w: prompt_ids have SHA-256 %s, the file says %s", ErrReplay, got, p.PromptSHA)
	}
	rule, err := verify.ParseRule(p.Acceptance)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	q := &intake.Request{
		ID: newID("replay-"), Prompt: p.PromptIDs, MaxTokens: p.MaxTokens, Stop: p.Stop, StopIDs: p.StopIDs,
		OneCall: p.OneCall, Budget: p.Budget, Depth: p.Depth, Rule: rule,
		Label: "replay", Score: p.ScoreOnly, ScoreOnly: p.ScoreOnly, Parse: chat.ParserOptions{InThink: p.InThink, Plain: p.Plain},
		Sampling: sample.Params{Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP, Presence: p.Presence,
			Frequency: p.Frequency, Repetition: p.Repetition, Seed: p.Seed, Choice: p.Choice},
	}
	for _, b := range p.Bias {
		q.Sampling.Bias = append(q.Sampling.Bias, sample.Bias(b))
	}
	if len(p.Tools) > 0 {
		if q.Parse.Tools, err = chat.ToolSchemas(p.Tools); err != nil {
			return nil, fmt.Errorf("%w: tools: %w", ErrReplay, err)
		}
	}
	if b := p.Budget; b != nil && (b.Tokens < 1 || len(b.End) == 0 || slices.Min(b.End) < 0) {
		return nil, fmt.Errorf("%w: thinking_budget: got %+v, want tokens from 1 and ids that end reasoning", ErrReplay, *b)
	}
	if p.Constraint != nil {
		if g == nil {
			return nil, fmt.Errorf("%w: it was held to a grammar, and there are none", ErrReplay)
		}
		if q.Grammar, err = g.bind(p.Constraint, p.Tools); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrReplay, err)
		}
	}
	if err := q.Sampling.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	return q, nil
}

// Saved is what a saved answer says of itself. Digests are "" where the text was empty.
type Saved struct {
	Replay       Replay
	ReasoningSHA string
	TextSHA      string
	TokensSHA    string
	DeviceKind   string
	Precision    string
	Fingerprint  string
}

// ReadSaved reads an answer as the server gave it: the JSON object, or the transcript of an event stream ("data: ..."
// lines), whose last chunk has it all. ErrReplay (wrapped) if there is nothing to replay in it.
func ReadSaved(data []byte) (*Saved, error) {
	candidates := [][]byte{data}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] != '{' {
		candidates = candidates[:0]
		for line := range bytes.Lines(data) {
			if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok {
				candidates = append(candidates, rest)
			}
		}
	}
	for i := len(candidates) - 1; i >= 0; i-- {
		var answer struct {
			Flashlane *details `json:"flashlane"`
			Response  struct { // the last event of /v1/responses has it inside
				Flashlane *details `json:"flashlane"`
			} `json:"response"`
		}
		if err := json.Unmarshal(candidates[i], &answer); err != nil {
			if len(candidates) == 1 {
				return nil, fmt.Errorf("%w: %w", ErrReplay, err)
			}
			continue // "[DONE]"
		}
		d := cmp.Or(answer.Flashlane, answer.Response.Flashlane)
		if d == nil || d.Replay == nil {
			continue
		}
		return &Saved{Replay: *d.Replay, ReasoningSHA: string(d.ReasoningSHA), TextSHA: string(d.TextSHA), TokensSHA: string(d.TokensSHA),
			DeviceKind: d.DeviceKind, Precision: d.Precision, Fingerprint: d.Fingerprint}, nil
	}
	return nil, fmt.Errorf("%w: it has no flashlane.replay object", ErrReplay)
}
