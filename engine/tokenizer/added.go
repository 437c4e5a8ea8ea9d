package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// addedToken is one entry of added_tokens, with the flags of the file.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // matches only between non-word characters
	LStrip     bool   `json:"lstrip"`      // takes the white space on its left
	RStrip     bool   `json:"rstrip"`      // takes the white space on its right
	Normalized bool   `json:"normalized"`  // looked for after normalisation
	Special    bool   `json:"special"`
}

// matcher finds a set of added tokens in text, leftmost and then longest first. Its cost per character is bounded by the longest
// token.
type matcher struct {
	nodes  []trieNode
	tokens []addedToken
}

type trieNode struct {
	next  map[byte]int32
	token int32 // index into tokens, -1 for none
}

// newMatcher builds the trie; content maps a token to the string that is looked for. Later tokens win over earlier ones with the
// same string.
func newMatcher(tokens []addedToken, content func(string) string) *matcher {
	m := &matcher{nodes: []trieNode{{token: -1}}, tokens: tokens}
	for i, t := range tokens {
		at := int32(0)
		for _, b := range []byte(content(t.Content)) {
			next, ok := m.nodes[at].next[b]
			if !ok {
				next = int32(len(m.nodes))
				if m.nodes[at].next == nil {
					m.nodes[at].next = make(map[byte]int32)
				}
				m.nodes[at].next[b] = next
				m.nodes = append(m.nodes, trieNode{token: -1})
			}
			at = next
		}
		if at != 0 {
			m.nodes[at].token = int32(i)
		}
	}
	return m
}

// match is the longest token that text[i:] begins with; the index is -1 if none does.
func (m *matcher) match(text string, i int) (token int32, end int) {
	token = -1
	at := int32(0)
	for j := i; j < len(text); j++ {
		next, ok := m.nodes[at].next[text[j]]
		if !ok {
			break
		}
		at = next
		if m.nodes[at].token >= 0 {
			token, end = m.nodes[at].token, j+1
		}
	}
	return token, end
}

// cut gives the pieces of text in order: id >= 0 for an added token, -1 for a piece of text between them. White space taken by
// lstrip or rstrip belongs to the token and vanishes with it, as in the reference.
func (m *matcher) cut(text string, emit func(piece string, id int32) error) error {
	from := 0
	if len(m.tokens) > 0 {
		for i := 0; i < len(text); {
			k, end := m.match(text, i)
			if k < 0 {
				i++
				continue
			}
			t := m.tokens[k]
			start := i
			i = end // whatever becomes of it, the search goes on behind the match
			if t.SingleWord && (wordBefore(text[:start]) || wordAfter(text[end:])) {
				continue
			}
			if t.LStrip {
				start = max(from, trimRight(text[:start]))
			}
			if t.RStrip {
				end += leading(text[end:])
				i = end
			}
			if start > from {
				if err := emit(text[from:start], -1); err != nil {
					return err
				}
			}
			if err := emit(text[start:end], t.ID); err != nil {
				return err
			}
			from = end
		}
	}
	if from < len(text) {
		return emit(text[from:], -1)
	}
	return nil
}

// isWord is \w: letters, marks, decimal digits and connectors.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r)
}

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWord(r)
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

// trimRight is the length of s without its trailing white space.
func trimRight(s string) int {
	for len(s) > 0 {
		r, n := utf8.DecodeLastRuneInString(s)
		if !unicode.IsSpace(r) {
			break
		}
		s = s[:len(s)-n]
	}
	return len(s)
}

// leading is the length of the white space s begins with.
func leading(s string) int {
	for i, r := range s {
		if !unicode.IsSpace(r) {
			return i
		}
	}
	return len(s)
}
