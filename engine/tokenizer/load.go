package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxID bounds token ids: the tables are arrays by id, and a file must not make us allocate for an id nobody uses.
const maxID = 1 << 22

// file is tokenizer.json as far as it matters. Truncation and padding in it are settings of training tools and have no part in
// encoding one text; they are ignored on purpose.
type file struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         model           `json:"model"`
}

type model struct {
	Type         string           `json:"type"`
	Dropout      *float64         `json:"dropout"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []mergePair      `json:"merges"`
}

// mergePair is one merge, written "a b" by older tools and ["a", "b"] by newer ones.
type mergePair [2]string

// UnmarshalJSON accepts both forms.
func (p *mergePair) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var list []string
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		if len(list) != 2 {
			return fmt.Errorf("merge has %d parts, want 2", len(list))
		}
		p[0], p[1] = list[0], list[1]
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	left, right, ok := strings.Cut(s, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return fmt.Errorf("merge %q: want two parts with one space between", s)
	}
	p[0], p[1] = left, right
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("tokenizer: tokenizer.json: %s: %w", fmt.Sprintf(format, args...), ErrUnsupported)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("tokenizer: tokenizer.json: %s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
}

// Load builds a tokenizer from the contents of tokenizer.json and, if the pack has one, tokenizer_config.json (nil or empty
// otherwise). Errors wrap ErrCorrupt or ErrUnsupported and name the field.
func Load(tokenizerJSON, tokenizerConfigJSON []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(tokenizerJSON, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: tokenizer.json: %w: %w", ErrCorrupt, err)
	}
	conf, err := readConfig(tokenizerConfigJSON)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{named: conf.named}
	if t.nfc, err = readNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = readPreTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	if err := readDecoder(f.Decoder); err != nil {
		return nil, err
	}
	if err := readPostProcessor(f.PostProcessor); err != nil {
		return nil, err
	}
	added, err := conf.merge(f.AddedTokens)
	if err != nil {
		return nil, err
	}
	if err := t.readVocab(&f.Model, added); err != nil {
		return nil, err
	}
	if t.bpe, err = newMerger(&f.Model, t.pieces); err != nil {
		return nil, err
	}
	return t, t.readAdded(added)
}

// readVocab fills pieces and ids from the model's vocabulary and the added tokens.
func (t *Tokenizer) readVocab(m *model, added []addedToken) error {
	size := int32(0)
	fits := func(token string, id int32) error {
		if id < 0 || id >= maxID {
			return corrupt("token %q has id %d, want 0 to %d", token, id, maxID-1)
		}
		size = max(size, id+1)
		return nil
	}
	for token, id := range m.Vocab {
		if err := fits(token, id); err != nil {
			return err
		}
	}
	for _, a := range added {
		if err := fits(a.Content, a.ID); err != nil {
			return err
		}
	}
	t.pieces = make([][]byte, size)
	t.ids = make(map[string]int32, len(m.Vocab)+len(added))
	abc := newAlphabet()
	for token, id := range m.Vocab {
		if t.pieces[id] != nil {
			return corrupt("model.vocab gives id %d to two tokens, one of them %q", id, token)
		}
		t.pieces[id] = abc.decode(token)
		t.ids[token] = id
	}
	for _, a := range added {
		if id, ok := t.ids[a.Content]; ok && id != a.ID {
			return corrupt("added token %q has id %d and elsewhere id %d", a.Content, a.ID, id)
		}
		if _, ok := t.ids[a.Content]; !ok && t.pieces[a.ID] != nil {
			return corrupt("added token %q has id %d, which already stands for %q", a.Content, a.ID, t.pieces[a.ID])
		}
		t.ids[a.Content] = a.ID
		t.pieces[a.ID] = []byte(a.Content)
	}
	return nil
}

// readAdded sets up the search for added tokens.
func (t *Tokenizer) readAdded(added []addedToken) error {
	t.flags = make(map[int32]tokenFlag, len(added))
	var raw, normed []addedToken
	for _, a := range added {
		if a.Content == "" {
			return corrupt("added token %d is empty", a.ID)
		}
		t.flags[a.ID] = flagAdded
		if a.Special {
			t.flags[a.ID] |= flagSpecial
		}
		if a.Normalized && t.nfc {
			normed = append(normed, a)
		} else {
			raw = append(raw, a)
		}
	}
	for id := range t.pieces {
		if t.flags[int32(id)] != 0 {
			t.ordered = append(t.ordered, int32(id))
		}
	}
	t.raw = newMatcher(raw, func(s string) string { return s })
	t.normed = newMatcher(normed, norm.NFC.String)
	return nil
}

// newMerger checks the model's settings and builds the merge table.
func newMerger(m *model, pieces [][]byte) (*merger, error) {
	switch {
	case m.Type != "BPE" && m.Type != "":
		return nil, unsupported("model.type %q, want BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, unsupported("model.dropout %g", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return nil, unsupported("model.continuing_subword_prefix %q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return nil, unsupported("model.end_of_word_suffix %q", *m.Suffix)
	case m.ByteFallback:
		return nil, unsupported("model.byte_fallback")
	}
	out := &merger{ranks: make(map[uint64]uint64, len(m.Merges)), cached: newCache()}
	abc := newAlphabet()
	for b, c := range abc.char {
		id, ok := m.Vocab[string(c)]
		if !ok {
			return nil, corrupt("model.vocab lacks %q, the token of byte 0x%02x: not a byte-level vocabulary", c, b)
		}
		out.bytes[b] = id
	}
	for i, p := range m.Merges {
		left, okL := m.Vocab[p[0]]
		right, okR := m.Vocab[p[1]]
		both, okB := m.Vocab[p[0]+p[1]]
		if !okL || !okR || !okB {
			return nil, corrupt("model.merges[%d] (%q, %q): parts or result are not in model.vocab", i, p[0], p[1])
		}
		out.ranks[pairKey(left, right)] = uint64(i)<<32 | uint64(uint32(both))
	}
	if m.IgnoreMerges {
		out.whole = make(map[string]int32, len(m.Vocab))
		for _, id := range m.Vocab {
			out.whole[string(pieces[id])] = id
		}
	}
	return out, nil
}

// isNull tells whether a field is absent or null.
func isNull(raw json.RawMessage) bool {
	b := bytes.TrimSpace(raw)
	return len(b) == 0 || string(b) == "null"
}
