package intake

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// transcript is the pure part of a session: the ledger, the text made of it, and when it ends.
type transcript struct {
	ledger  []int32 // prompt and committed tokens; append only, so that prefixes may be shared
	prompt  int
	context int // most positions
	max     int // most tokens to generate; 0: no limit but the context
	isStop  func(id int32) bool
	one     bool // the first whole tool call ends the answer

	tok    *tokenizer.Tokenizer // nil: no text is made
	text   *tokenizer.Stream
	parser *chat.Parser

	reasoning, content, ids hash.Hash
	reasoningBytes          int
	contentBytes            int

	thinking        int // tokens spent while the parser was in reasoning
	accepted, draft int
	rounds          int
	calls           int // complete tool calls
	finish          Finish
	stopString      string
}

func newTranscript(r *Request, context int, stop func(int32) bool, tok *tokenizer.Tokenizer) *transcript {
	t := &transcript{prompt: len(r.Prompt), context: context, max: r.MaxTokens, isStop: stop, one: r.OneCall, tok: tok,
		reasoning: sha256.New(), content: sha256.New(), ids: sha256.New()}
	t.ledger = append(make([]int32, 0, len(r.Prompt)+64), r.Prompt...)
	if tok != nil {
		o := r.Parse
		o.Stop = r.Stop
		t.text, t.parser = tok.NewStream(), chat.NewParser(o)
	}
	return t
}

// limit is how many tokens may still be emitted.
func (t *transcript) limit() int {
	n := t.context - len(t.ledger)
	if t.max > 0 {
		n = min(n, t.max-t.generated())
	}
	return max(n, 0)
}

func (t *transcript) generated() int { return len(t.ledger) - t.prompt }

// add takes the tokens of a round, of which the first `accepted` were drafts out of `drafted`. It returns what may be
// shown: fewer tokens than given when a stop string or a tool call that is to be the only one cut them. When done is true, finish says why.
func (t *transcript) add(tokens []sample.Token, drafted, accepted int) (deltas []chat.Delta, shown []sample.Token, done bool) {
	for i, tok := range tokens {
		t.ledger = append(t.ledger, tok.ID)
		t.ids.Write(binary.LittleEndian.AppendUint32(nil, uint32(tok.ID)))
		shown = tokens[:i+1]
		if t.isStop(tok.ID) {
			t.finish, done = FinishStop, true
			break
		}
		deltas = append(deltas, t.push(tok.ID)...)
		if t.parser != nil {
			if s, ok := t.parser.Stopped(); ok {
				t.finish, t.stopString, done = FinishStop, s, true
				break
			}
		}
		if t.one && t.calls > 0 {
			t.finish, done = FinishStop, true
			break
		}
		if t.limit() == 0 {
			t.finish, done = FinishLength, true
			break
		}
	}
	t.draft += drafted
	t.accepted += min(accepted, len(shown))
	if done && t.parser != nil && t.stopString == "" {
		deltas = append(deltas, t.note(t.parser.Push(t.text.Flush()))...)
		deltas = append(deltas, t.note(t.parser.Flush())...)
	}
	if done && t.finish == FinishStop && t.stopString == "" && t.calls > 0 {
		t.finish = FinishToolCalls
	}
	return deltas, shown, done
}

func (t *transcript) push(id int32) []chat.Delta {
	if t.parser == nil {
		return nil
	}
	if t.parser.Thinking() {
		t.thinking++
	}
	return t.note(t.parser.PushToken(t.text.Push(id), t.tok.Added(id)))
}

// note digests deltas on their way out.
func (t *transcript) note(deltas []chat.Delta) []chat.Delta {
	for _, d := range deltas {
		switch d.Kind {
		case chat.Reasoning:
			t.reasoning.Write([]byte(d.Text))
			t.reasoningBytes += len(d.Text)
		case chat.ToolEnd:
			t.calls++
		default:
			s := d.Name + d.Text
			t.content.Write([]byte(s))
			t.contentBytes += len(s)
		}
	}
	return deltas
}

// fill writes what the transcript knows into a report.
func (t *transcript) fill(r *Report) {
	r.Finish, r.StopString = t.finish, t.stopString
	r.OpenToolCall = t.parser != nil && t.parser.Open()
	r.PromptTokens, r.CompletionTokens, r.ReasoningTokens = t.prompt, t.generated(), t.thinking
	r.AcceptedDrafts, r.RejectedDrafts = t.accepted, t.draft-t.accepted
	r.Rounds = t.rounds
	r.ReasoningSHA, r.TextSHA = digest(t.reasoning, t.reasoningBytes), digest(t.content, t.contentBytes)
	r.TokensSHA = digest(t.ids, t.generated())
}

// digest is the hex sum, or nothing for nothing: the digest of an empty text proves nothing.
func digest(h hash.Hash, n int) string {
	if n == 0 {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
