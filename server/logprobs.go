package server

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/server/body"
)

// readChatLogprobs reads logprobs and top_logprobs as the chat route has them.
func readChatLogprobs(r *body.Reader, j *job) {
	on, _ := r.Bool("logprobs")
	top, given := r.Int("top_logprobs", 0, sample.MaxTopLogprobs)
	if given && top > 0 && !on {
		r.Fail("top_logprobs", body.CodeInvalidValue, "is only allowed when 'logprobs' is true")
	}
	if on {
		j.rate(int(top))
	}
}

// rate asks for the logprobs of generated tokens and of top others at each position.
func (j *job) rate(top int) {
	j.request.Logprobs = true
	j.request.Sampling.Logprobs, j.request.Sampling.TopLogprobs = true, top
}

// tokenProb is one token as the chat and responses wires show it. Logprobs are the model's own, before any sampling
// setting.
type tokenProb struct {
	Token   string    `json:"token"`
	Logprob float64   `json:"logprob"`
	Bytes   []int     `json:"bytes"`
	Top     []topProb `json:"top_logprobs"`
	Part    string    `json:"part,omitempty"` // reasoning, content or tool_call: ours, chat only
}

type topProb struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// tokenText is a token's text; what is no UTF-8 by itself is replaced, and told exactly by its bytes.
func tokenText(piece []byte) string { return strings.ToValidUTF8(string(piece), "\uFFFD") }

func byteList(piece []byte) []int {
	out := make([]int, len(piece))
	for i, b := range piece {
		out[i] = int(b)
	}
	return out
}

// rater turns the tokens of one choice into what the chat wire shows. It follows the answer's parts with a parser of its own,
// for the deltas do not say which tokens they came from.
type rater struct {
	tok    *tokenizer.Tokenizer
	text   *tokenizer.Stream
	parser *chat.Parser
}

func newRater(tok *tokenizer.Tokenizer, o chat.ParserOptions) *rater {
	return &rater{tok: tok, text: tok.NewStream(), parser: chat.NewParser(o)}
}

// part feeds the parser one token and says where in the answer it stands.
func (r *rater) part(id int32) string {
	thinking, calling := r.parser.Thinking(), r.parser.Open()
	r.parser.PushToken(r.text.Push(id), r.tok.Added(id))
	switch {
	case thinking:
		return "reasoning"
	case calling || r.parser.Open():
		return "tool_call"
	}
	return "content"
}

// rate gives the entries of tokens. Special tokens, such as the one that ends the answer, give no text and have no entry.
func (r *rater) rate(tokens []sample.Token) []tokenProb {
	out := []tokenProb{}
	for _, t := range tokens {
		part := r.part(t.ID)
		if r.tok.Special(t.ID) {
			continue
		}
		piece := r.tok.Piece(t.ID)
		p := tokenProb{Token: tokenText(piece), Logprob: t.Logprob, Bytes: byteList(piece), Top: []topProb{}, Part: part}
		for _, e := range t.Top {
			piece := r.tok.Piece(e.ID)
			p.Top = append(p.Top, topProb{tokenText(piece), e.Logprob, byteList(piece)})
		}
		out = append(out, p)
	}
	return out
}

// textLogprobs is the logprobs object of completions: parallel lists, offsets in characters.
type textLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Probs   []*float64           `json:"token_logprobs"` // null for a prompt's first token
	Top     []map[string]float64 `json:"top_logprobs"`   // null for a prompt's first token
	Offsets []int                `json:"text_offset"`
}

// textRater builds textLogprobs piece by piece: a token is given out once all of its text is, so that nothing of a
// stop string is told by its tokens.
type textRater struct {
	tok     *tokenizer.Tokenizer
	text    *tokenizer.Stream
	at      int // characters of all tokens pushed
	shown   int // characters given out
	pending []ratedText
}

type ratedText struct {
	start, end int
	first      bool // the prompt's first token: nobody rated it
	token      sample.Token
}

func newTextRater(tok *tokenizer.Tokenizer) *textRater {
	return &textRater{tok: tok, text: tok.NewStream()}
}

// prompt enters the whole prompt; its text is given out at once.
func (r *textRater) prompt(ids []int32, scored []sample.Token) {
	raw := r.tok.NewRawStream() // special tokens in a prompt are part of what is echoed
	for i, id := range ids {
		t := sample.Token{ID: id}
		if i > 0 && i-1 < len(scored) {
			t = scored[i-1]
		}
		r.enter(t, raw.Push(id), i == 0)
	}
	r.at += utf8.RuneCountInString(raw.Flush())
	r.shown = r.at
}

func (r *textRater) enter(t sample.Token, text string, first bool) {
	start := r.at
	r.at += utf8.RuneCountInString(text)
	r.pending = append(r.pending, ratedText{start, r.at, first, t})
}

// push enters generated tokens, and text that was given out; what can be told now is returned.
func (r *textRater) push(tokens []sample.Token, text string) *textLogprobs {
	for _, t := range tokens {
		if !r.tok.Special(t.ID) {
			r.enter(t, r.text.Push(t.ID), false)
		}
	}
	r.shown += utf8.RuneCountInString(text)
	n := 0
	for n < len(r.pending) && r.pending[n].end <= r.shown {
		n++
	}
	return r.give(n)
}

// end gives out what is left, unless a stop string cut it away.
func (r *textRater) end(stopped bool) *textLogprobs {
	if stopped {
		return r.give(0)
	}
	return r.give(len(r.pending))
}

func (r *textRater) give(n int) *textLogprobs {
	out := &textLogprobs{Tokens: []string{}, Probs: []*float64{}, Top: []map[string]float64{}, Offsets: []int{}}
	for _, p := range r.pending[:n] {
		out.Tokens = append(out.Tokens, r.name(p.token.ID))
		out.Offsets = append(out.Offsets, p.start)
		if p.first {
			out.Probs, out.Top = append(out.Probs, nil), append(out.Top, nil)
			continue
		}
		top := map[string]float64{r.name(p.token.ID): p.token.Logprob} // the token itself is always among them
		for _, e := range p.token.Top {
			top[r.name(e.ID)] = e.Logprob
		}
		out.Probs, out.Top = append(out.Probs, &p.token.Logprob), append(out.Top, top)
	}
	r.pending = r.pending[n:]
	return out
}

// name is a token's text as the legacy wire spells it: half a character is told by its bytes.
func (r *textRater) name(id int32) string {
	piece := r.tok.Piece(id)
	if utf8.Valid(piece) {
		return string(piece)
	}
	out := "bytes:"
	for _, b := range piece {
		out += `\x` + strconv.FormatInt(int64(b)+0x100, 16)[1:]
	}
	return out
}

func (l *textLogprobs) add(more *textLogprobs) {
	l.Tokens, l.Probs = append(l.Tokens, more.Tokens...), append(l.Probs, more.Probs...)
	l.Top, l.Offsets = append(l.Top, more.Top...), append(l.Offsets, more.Offsets...)
}

// some reports whether there is anything in it; nil has nothing.
func (l *textLogprobs) some() bool { return l != nil && len(l.Tokens) > 0 }
