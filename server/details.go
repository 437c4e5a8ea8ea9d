package server

import (
	"encoding/json"
	"time"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/verify"
)

// details is the `flashlane` object of an answer: how it came about, its digests, and what it takes to run it again.
type details struct {
	ID             string                    `json:"request_id"`
	Seed           uint64                    `json:"seed"`
	SeedGiven      bool                      `json:"seed_given"`
	Rounds         int                       `json:"rounds"`
	TokensPerRound float64                   `json:"tokens_per_round"`
	Depth          int                       `json:"depth"`
	Acceptance     string                    `json:"acceptance"`
	Exact          bool                      `json:"exact"` // rule coupled: the bytes do not depend on the drafter
	Timings        timings                   `json:"timings"`
	Lanes          map[string]bool           `json:"lanes"`
	LaneUse        map[string]intake.LaneUse `json:"lane_use,omitempty"`
	ReasoningSHA   digest                    `json:"reasoning_sha256"`
	TextSHA        digest                    `json:"text_sha256"`
	TokensSHA      digest                    `json:"tokens_sha256"`
	StopString     string                    `json:"stop_string,omitempty"`
	OpenToolCall   bool                      `json:"open_tool_call,omitempty"` // the length limit cut a tool call
	Restarts       int                       `json:"restarts"`
	DeviceKind     string                    `json:"device_kind"`
	Precision      string                    `json:"precision"` // exact or fast: part of the device kind, in a word of its own
	Fingerprint    string                    `json:"pack_fingerprint"`
	Metadata       json.RawMessage           `json:"metadata,omitempty"`
	OverBudget     bool                      `json:"thinking_over_budget,omitempty"` // it thought for longer than budget_tokens
	Replay         *Replay                   `json:"replay"`
	Choices        []*details                `json:"choices,omitempty"` // of all choices in order, when there are several
}

// timings are in milliseconds and tokens per second; a rate is 0 when its time was too short to measure.
type timings struct {
	Queue      float64 `json:"queue_ms"`
	Prefill    float64 `json:"prefill_ms"`
	FirstToken float64 `json:"ttft_ms"`
	Decode     float64 `json:"decode_ms"`
	PrefillTok float64 `json:"prefill_tok_s"`
	DecodeTok  float64 `json:"decode_tok_s"`
}

// digest is a hex SHA-256, or {"empty": true}: the digest of an empty text would match that of any other empty text and
// prove nothing.
type digest string

// MarshalJSON implements json.Marshaler.
func (d digest) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte(`{"empty":true}`), nil
	}
	return json.Marshal(string(d))
}

// UnmarshalJSON reads both forms back.
func (d *digest) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*d = ""
		return nil
	}
	return json.Unmarshal(b, (*string)(d))
}

// detailsOf is the object for a whole job: the first choice's, with those of all choices in it when there are several.
func detailsOf(j *job, reports []*intake.Report) *details {
	d := j.details(0, reports[0])
	if len(reports) > 1 {
		for i, r := range reports {
			d.Choices = append(d.Choices, j.details(i, r))
		}
	}
	return d
}

func (j *job) details(choice int, r *intake.Report) *details {
	return &details{
		ID: r.ID, Seed: r.Seed, SeedGiven: j.seedGiven, Rounds: r.Rounds, TokensPerRound: perRound(r),
		Depth: r.Depth, Acceptance: r.Rule, Exact: r.Rule == verify.Coupled.String(),
		Timings: timings{Queue: ms(r.Queued), Prefill: ms(r.Prefill), FirstToken: ms(r.FirstToken), Decode: ms(r.Decode),
			PrefillTok: rate(r.PromptTokens, r.Prefill), DecodeTok: rate(r.CompletionTokens-1, r.Decode)},
		Lanes: r.Lanes, LaneUse: r.LaneUse,
		ReasoningSHA: digest(r.ReasoningSHA), TextSHA: digest(r.TextSHA), TokensSHA: digest(r.TokensSHA),
		StopString: r.StopString, OpenToolCall: r.OpenToolCall, Restarts: r.Restarts,
		DeviceKind: j.model.DeviceKind, Precision: j.model.Precision, Fingerprint: j.model.Fingerprint,
		Metadata: j.metadata, OverBudget: j.budget > 0 && r.ReasoningTokens > j.budget,
		Replay: &j.replays[choice],
	}
}

// perRound is the mean of tokens that a round gave; the first token comes from the prefill.
func perRound(r *intake.Report) float64 {
	if r.Rounds == 0 {
		return 0
	}
	return float64(r.CompletionTokens-1) / float64(r.Rounds)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func rate(tokens int, d time.Duration) float64 {
	if tokens <= 0 || d <= 0 {
		return 0
	}
	return float64(tokens) / d.Seconds()
}

// fingerprint is OpenAI's system_fingerprint: what, besides the request, the bytes depend on.
func (m *Model) fingerprint() string {
	if m.Fingerprint == "" {
		return ""
	}
	id := "fp_" + m.Fingerprint[:min(len(m.Fingerprint), 16)]
	if m.Precision == "fast" {
		id += "_fast"
	}
	return id
}
