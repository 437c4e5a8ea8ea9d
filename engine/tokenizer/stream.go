package tokenizer

// Stream turns one request's ids into text as they come. Special tokens are left out (unless made by NewRawStream), other added
// tokens (<think>, <tool_call>) are text. All that Push and Step gave, and then Flush, concatenates to what Decode gives for the ids.
// One goroutine at a time.
type Stream struct {
	t    *Tokenizer
	keep bool   // special tokens stay
	rest []byte // the beginning of a character, at most three bytes
}

// NewStream begins the text of a new request: Decode(ids, true) piece by piece.
func (t *Tokenizer) NewStream() *Stream { return &Stream{t: t} }

// NewRawStream is NewStream with special tokens kept as text: Decode(ids, false) piece by piece.
func (t *Tokenizer) NewRawStream() *Stream { return &Stream{t: t, keep: true} }

// hidden tells whether the id gives no text.
func (s *Stream) hidden(id int32) bool { return !s.keep && s.t.Special(id) }

// Push gives the text that is certain after one more id: it never ends inside a character.
func (s *Stream) Push(id int32) string {
	if s.hidden(id) {
		return ""
	}
	return s.feed(s.t.Piece(id))
}

// Step is Push for a caller that must tell added tokens from text that looks like them. For an added token that gives text, text is
// exactly the token's string, added is true, and before is what an unfinished character in front of it came to (mostly ""); for any
// other id, text is what Push would give.
func (s *Stream) Step(id int32) (before, text string, added bool) {
	if s.hidden(id) || !s.t.Added(id) {
		return "", s.Push(id), false
	}
	piece := s.t.Piece(id)
	if len(piece) == 0 || len(s.rest) > 0 && piece[0] >= 0x80 && piece[0] < 0xC0 {
		return "", s.feed(piece), false // not a character boundary: such a token can be no tag
	}
	return s.Flush(), s.feed(piece), true
}

// Flush ends the text: an unfinished character becomes U+FFFD. The stream is then as new.
func (s *Stream) Flush() string {
	if len(s.rest) == 0 {
		return ""
	}
	s.rest = s.rest[:0]
	return "\uFFFD"
}

func (s *Stream) feed(piece []byte) string {
	raw := append(s.rest, piece...)
	text, rest := replace(make([]byte, 0, len(raw)), raw)
	s.rest = append(make([]byte, 0, 4+len(rest)), rest...)
	return string(text)
}
