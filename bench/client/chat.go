package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ErrStream is wrapped when a stream ends before its last chunk, or says that it failed.
var ErrStream = errors.New("client: the stream did not end well")

// Ask is one chat request with one user message.
type Ask struct {
	Text        string
	MaxTokens   int
	Seed        uint64
	Temperature float64
	TopP        float64 // 0: the pack's
	TopK        int     // 0: the pack's
	Depth       *int    // nil: the server's
	Acceptance  string  // "": the server's
	NoThink     bool
	Ban         []int32 // ids that may not be sampled: those that would end the answer early
}

func (a *Ask) body() map[string]any {
	b := map[string]any{
		"messages": []map[string]string{{"role": "user", "content": a.Text}}, "max_tokens": a.MaxTokens, "seed": a.Seed,
		"temperature": a.Temperature, "stream": true, "stream_options": map[string]bool{"include_usage": true},
	}
	if a.TopP > 0 {
		b["top_p"] = a.TopP
	}
	if a.TopK > 0 {
		b["top_k"] = a.TopK
	}
	if a.Depth != nil {
		b["depth"] = *a.Depth
	}
	if a.Acceptance != "" {
		b["acceptance"] = a.Acceptance
	}
	if a.NoThink {
		b["enable_thinking"] = false
	}
	if len(a.Ban) > 0 {
		bias := map[string]float64{}
		for _, id := range a.Ban {
			bias[strconv.Itoa(int(id))] = -100
		}
		b["logit_bias"] = bias
	}
	return b
}

// Answer is what came of an Ask. Times count from when the request was sent.
type Answer struct {
	Sent   time.Time
	Marks  []time.Duration // arrivals of the chunks that carry text; a chunk holds what one round gave
	End    time.Duration
	Finish string

	Prompt, Cached, Completion, Reasoning, Accepted, Rejected int // tokens, as the server counts them

	Details
}

// Details is the server's own account of an answer (its `flashlane` object).
type Details struct {
	Rounds       int             `json:"rounds"`
	Depth        int             `json:"depth"`
	Restarts     int             `json:"restarts"`
	Lanes        map[string]bool `json:"lanes"`
	Timings      Timings         `json:"timings"`
	TokensSHA    Digest          `json:"tokens_sha256"`
	ReasoningSHA Digest          `json:"reasoning_sha256"`
	TextSHA      Digest          `json:"text_sha256"`
}

// Timings are the server's, in milliseconds and tokens per second.
type Timings struct {
	Queue      float64 `json:"queue_ms"`
	Prefill    float64 `json:"prefill_ms"`
	FirstToken float64 `json:"ttft_ms"`
	Decode     float64 `json:"decode_ms"`
	PrefillTok float64 `json:"prefill_tok_s"`
	DecodeTok  float64 `json:"decode_tok_s"`
}

// Digest is a hex SHA-256; "" is that of an empty text, which proves nothing.
type Digest string

// UnmarshalJSON reads a string, or the object that stands for an empty text.
func (d *Digest) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*d = ""
		return nil
	}
	return json.Unmarshal(b, (*string)(d))
}

// TTFT is the time to the first text; 0 if there was none.
func (a *Answer) TTFT() time.Duration {
	if len(a.Marks) == 0 {
		return 0
	}
	return a.Marks[0]
}

// Decode is the time from the first text to the last.
func (a *Answer) Decode() time.Duration {
	if len(a.Marks) == 0 {
		return 0
	}
	return a.Marks[len(a.Marks)-1] - a.Marks[0]
}

type chunk struct {
	errorBody
	Choices []struct {
		Delta struct {
			Content   string          `json:"content"`
			Reasoning string          `json:"reasoning_content"`
			ToolCalls json.RawMessage `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		PromptHow  struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		How struct {
			Reasoning int `json:"reasoning_tokens"`
			Accepted  int `json:"accepted_prediction_tokens"`
			Rejected  int `json:"rejected_prediction_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Flashlane *Details `json:"flashlane"`
}

// Chat sends an Ask and reads its stream to the end. onText, if set, is called at every chunk with text, as it arrives. An
// answer that broke off comes with the error and what was there of it.
func (c *Client) Chat(ctx context.Context, ask *Ask, onText func(at time.Time)) (*Answer, error) {
	a := &Answer{Sent: time.Now()}
	resp, err := c.do(ctx, http.MethodPost, "/v1/chat/completions", ask.body())
	if err != nil {
		a.End = time.Since(a.Sent)
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	err = a.read(resp.Body, onText)
	a.End = time.Since(a.Sent)
	return a, err
}

// maxLine bounds a line of the stream: the last one repeats the prompt's ids.
const maxLine = 16 << 20

func (a *Answer) read(in io.Reader, onText func(time.Time)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 8<<10), maxLine)
	counted, told := false, false
	for lines.Scan() {
		now := time.Now()
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			if !counted || !told {
				return fmt.Errorf("%w: no usage or no flashlane object: is this a flashlane server?", ErrStream)
			}
			return nil
		}
		var k chunk
		if err := json.Unmarshal(data, &k); err != nil {
			return fmt.Errorf("%w: %w", ErrStream, err)
		}
		if k.Error != nil {
			return fmt.Errorf("%w: %s: %s", ErrStream, k.Error.Code, k.Error.Message)
		}
		for _, choice := range k.Choices {
			if d := choice.Delta; d.Content != "" || d.Reasoning != "" || len(d.ToolCalls) > 0 {
				a.Marks = append(a.Marks, now.Sub(a.Sent))
				if onText != nil {
					onText(now)
				}
			}
			if choice.Finish != "" {
				a.Finish = choice.Finish
			}
		}
		if u := k.Usage; u != nil {
			counted = true
			a.Prompt, a.Cached, a.Completion = u.Prompt, u.PromptHow.Cached, u.Completion
			a.Reasoning, a.Accepted, a.Rejected = u.How.Reasoning, u.How.Accepted, u.How.Rejected
		}
		if k.Flashlane != nil {
			told = true
			a.Details = *k.Flashlane
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrStream, err)
	}
	return fmt.Errorf("%w: it broke off after %d chunks with text", ErrStream, len(a.Marks))
}
