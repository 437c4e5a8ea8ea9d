package verify

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/engine/sample"
)

var (
	// ErrDraft is wrapped when rule residual cannot judge a draft: its distribution is missing or gives the draft no probability, so that no acceptance would be exact.
	ErrDraft = errors.New("draft without a usable distribution")
	// ErrArguments is wrapped when there is no row or no token may be emitted: the caller should not have run the pass.
	ErrArguments = errors.New("nothing to accept")
)

// NoDraft is the Draft of a row that judges no draft: the last one.
const NoDraft int32 = -1

// Row is one row of a verify pass. Accept changes nothing in it.
type Row struct {
	Logits []float32    // [vocab] f32, the trunk's
	Draft  int32        // the token proposed to follow this row; NoDraft on the last row
	Q      *sample.Dist // what Draft was drawn from; rule residual only
	Allow  []uint64     // bitset of ids that a grammar allows after this row, given the drafts before; nil allows all
}

// Limits are the request's own ends.
type Limits struct {
	MaxTokens int                 // tokens that may still be emitted, at least 1
	Stop      func(id int32) bool // stop ids; nil: none. A stop id is emitted, as the last token
}

// Result is what a round emits.
type Result struct {
	Tokens   []sample.Token // 1 to len(rows), in order, to be committed
	Accepted int            // how many of them were drafts: the first so many
	Stopped  bool           // the request ends: Reason is not ReasonNone
	Reason   Reason
}

// Accept judges the drafts of rows by rule. pos is the absolute position of the token that row 0 decides. h is advanced by the emitted tokens, so that
// row j's penalties see the drafts before it; on an error it is as it was. Ends at the first token that differs from its row's draft, at a stop id,
// at the token limit, and after the last row or a row without a draft.
//
// s is the request's sampler; its scratch is used. Errors are the sampler's, ErrDraft and ErrArguments. Cost: one sample per emitted token.
func Accept(rule Rule, s *sample.Sampler, h *sample.History, pos int, rows []Row, lim Limits) (Result, error) {
	if len(rows) == 0 || lim.MaxTokens < 1 {
		return Result{}, fmt.Errorf("verify: position %d: %w: %d rows, token limit %d, want at least 1 of each", pos, ErrArguments, len(rows), lim.MaxTokens)
	}
	if rule != Coupled && rule != Residual {
		return Result{}, fmt.Errorf("verify: position %d: %w: %v", pos, ErrRule, rule)
	}
	r := Result{Tokens: make([]sample.Token, 0, min(len(rows), lim.MaxTokens))}
	for j := range rows {
		tok, accepted, err := judge(rule, s, h, pos+j, &rows[j])
		if err != nil {
			if h != nil {
				for i := len(r.Tokens) - 1; i >= 0; i-- {
					h.Pop(r.Tokens[i].ID)
				}
			}
			return Result{}, fmt.Errorf("verify: row %d of %d: %w", j, len(rows), err)
		}
		r.Tokens = append(r.Tokens, tok)
		if h != nil {
			h.Push(tok.ID)
		}
		if accepted {
			r.Accepted++
		}
		switch {
		case lim.Stop != nil && lim.Stop(tok.ID):
			r.Reason = ReasonStop
		case len(r.Tokens) == lim.MaxTokens:
			r.Reason = ReasonLength
		case accepted:
			continue
		}
		break
	}
	r.Stopped = r.Reason != ReasonNone
	return r, nil
}

// judge decides one row's token, and whether it is the row's draft.
func judge(rule Rule, s *sample.Sampler, h *sample.History, pos int, row *Row) (sample.Token, bool, error) {
	if rule == Residual {
		return residual(s, h, pos, row)
	}
	tok, err := s.SampleAllowed(row.Logits, pos, h, row.Allow)
	return tok, err == nil && tok.ID == row.Draft, err
}
