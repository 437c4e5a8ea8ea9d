package tokenizer

import (
	"encoding/json"
	"fmt"
)

// stage is one object of tokenizer.json with a "type": a normaliser, pre-tokenizer, post-processor or decoder.
type stage struct {
	Type          string            `json:"type"`
	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`
	Pattern       struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Behavior    string `json:"behavior"`
	Invert      bool   `json:"invert"`
	PrefixSpace *bool  `json:"add_prefix_space"` // true if absent
	UseRegex    *bool  `json:"use_regex"`        // true if absent
}

func readStage(field string, raw json.RawMessage) (stage, error) {
	var s stage
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("tokenizer: tokenizer.json: %s: %w: %w", field, ErrCorrupt, err)
	}
	return s, nil
}

// each calls read for raw, or, if raw is a Sequence, for each of its parts (part picks them), one level of nesting at a time.
func each(field string, raw json.RawMessage, depth int, part func(stage) []json.RawMessage, read func(stage) error) error {
	if isNull(raw) {
		return nil
	}
	s, err := readStage(field, raw)
	if err != nil {
		return err
	}
	if s.Type != "Sequence" {
		return read(s)
	}
	if depth > 8 {
		return corrupt("%s: sequences nested too deep", field)
	}
	for i, p := range part(s) {
		if err := each(fmt.Sprintf("%s[%d]", field, i), p, depth+1, part, read); err != nil {
			return err
		}
	}
	return nil
}

func readNormalizer(raw json.RawMessage) (nfc bool, err error) {
	err = each("normalizer", raw, 0, func(s stage) []json.RawMessage { return s.Normalizers }, func(s stage) error {
		if s.Type != "NFC" {
			return unsupported("normalizer.type %q, want NFC", s.Type)
		}
		nfc = true
		return nil
	})
	return nfc, err
}

// readPreTokenizer builds the splitter. Exactly one ByteLevel must come, and last: the merges work on its alphabet.
func readPreTokenizer(raw json.RawMessage) (splitter, error) {
	var out chain
	closed := false
	err := each("pre_tokenizer", raw, 0, func(s stage) []json.RawMessage { return s.PreTokenizers }, func(s stage) error {
		if closed {
			return unsupported("pre_tokenizer: %q after ByteLevel", s.Type)
		}
		switch s.Type {
		case "Split":
			switch {
			case s.Pattern.Regex == nil:
				return unsupported("pre_tokenizer.pattern without Regex")
			case s.Behavior != "Isolated":
				return unsupported("pre_tokenizer.behavior %q, want Isolated", s.Behavior)
			case s.Invert:
				return unsupported("pre_tokenizer.invert")
			}
			p, err := newSplitter(*s.Pattern.Regex)
			out = append(out, p)
			return err
		case "ByteLevel":
			closed = true
			if s.PrefixSpace == nil || *s.PrefixSpace {
				out = append(out, spaced{})
			}
			if s.UseRegex == nil || *s.UseRegex {
				p, err := newSplitter(patternGPT2)
				out = append(out, p)
				return err
			}
			return nil
		}
		return unsupported("pre_tokenizer.type %q, want Split or ByteLevel", s.Type)
	})
	if err != nil {
		return nil, err
	}
	if !closed {
		return nil, unsupported("pre_tokenizer without ByteLevel")
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

func readDecoder(raw json.RawMessage) error {
	seen := false
	err := each("decoder", raw, 0, func(s stage) []json.RawMessage { return s.Decoders }, func(s stage) error {
		if s.Type != "ByteLevel" {
			return unsupported("decoder.type %q, want ByteLevel", s.Type)
		}
		seen = true
		return nil
	})
	if err == nil && !seen {
		return unsupported("decoder is absent, want ByteLevel")
	}
	return err
}

// readPostProcessor accepts what leaves the ids alone. (ByteLevel only moves offsets, which we do not have.)
func readPostProcessor(raw json.RawMessage) error {
	return each("post_processor", raw, 0, func(s stage) []json.RawMessage { return s.Processors }, func(s stage) error {
		if s.Type != "ByteLevel" {
			return unsupported("post_processor.type %q, which may add tokens", s.Type)
		}
		return nil
	})
}
