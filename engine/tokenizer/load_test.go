package tokenizer

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tiny is a whole tokenizer.json as a tree, to be broken in one place at a time: 256 bytes, two merges, three added tokens.
func tiny() map[string]any {
	vocab := map[string]any{}
	for b, c := range newAlphabet().char {
		vocab[string(c)] = b
	}
	vocab["ab"], vocab["abc"] = 256, 257
	return map[string]any{
		"added_tokens": []any{
			map[string]any{"id": 258, "content": "<s>", "special": true},
			map[string]any{"id": 259, "content": "<m>", "lstrip": true, "rstrip": true},
			map[string]any{"id": 260, "content": "word", "single_word": true},
			map[string]any{"id": 261, "content": "e\u0301x", "normalized": true},
		},
		"normalizer": map[string]any{"type": "NFC"},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": patternQwen2}, "behavior": "Isolated", "invert": false},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"post_processor": nil,
		"decoder":        map[string]any{"type": "ByteLevel"},
		"model":          map[string]any{"type": "BPE", "vocab": vocab, "merges": []any{"a b", []any{"ab", "c"}}},
	}
}

func loadTree(t *testing.T, tree map[string]any, config string) (*Tokenizer, error) {
	t.Helper()
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return Load(raw, []byte(config))
}

func TestAddedTokenFlags(t *testing.T) {
	tok, err := loadTree(t, tiny(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want []int32
	}{
		{"abcab", []int32{257, 256}},
		{"a<s>b", []int32{'a' + 0, 258, 'b'}},
		{"a \t<m>\n b", []int32{'a', 259, 'b'}},
		{"  <m>  <m> ", []int32{259, 259}},
		{"word", []int32{260}},
		{"(word)", []int32{'(', 260, ')'}},
		{"sword", []int32{'s', 'w', 'o', 'r', 'd'}},
		{"words", []int32{'w', 'o', 'r', 'd', 's'}},
		{"word_", []int32{'w', 'o', 'r', 'd', '_'}},
		{"éx", []int32{261}},
		{"e\u0301x", []int32{261}},
	} {
		got := encode(t, tok, c.text)
		want := slices.Clone(c.want)
		for i, id := range want {
			if id < 256 {
				want[i] = tok.bpe.bytes[id]
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("Encode(%q) = %v, want %v", c.text, got, want)
		}
	}
}

func TestIgnoreMerges(t *testing.T) {
	tree := tiny()
	m := tree["model"].(map[string]any)
	m["merges"] = []any{}
	m["ignore_merges"] = true
	tok, err := loadTree(t, tree, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encode(t, tok, "abc"), []int32{257}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := encode(t, tok, "abca"); len(got) != 4 {
		t.Errorf("a word not in the vocabulary: got %v, want four bytes", got)
	}
}

func TestConfigFlags(t *testing.T) {
	tok, err := loadTree(t, tiny(), `{"added_tokens_decoder":{"258":{"content":"<s>","special":false},"300":{"content":"<new>","special":true}},"eos_token":{"content":"<new>"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Special(258) || !tok.Added(258) {
		t.Error("the config's flags must win")
	}
	if got := encode(t, tok, "<new>"); !slices.Equal(got, []int32{300}) || !tok.Special(300) || tok.Size() != 301 || tok.Known(299) {
		t.Errorf("a token of the config alone: got %v, size %d", got, tok.Size())
	}
	if s, _ := tok.Named("eos_token"); s != "<new>" {
		t.Errorf("eos_token %q", s)
	}
}

func TestLoadRefuses(t *testing.T) {
	model := func(k string, v any) func(map[string]any) {
		return func(f map[string]any) { f["model"].(map[string]any)[k] = v }
	}
	top := func(k string, v any) func(map[string]any) { return func(f map[string]any) { f[k] = v } }
	typed := func(s string) map[string]any { return map[string]any{"type": s} }
	for _, c := range []struct {
		name   string
		broken func(map[string]any)
		config string
		want   error
		text   string
	}{
		{"unigram", model("type", "Unigram"), "", ErrUnsupported, "model.type"},
		{"dropout", model("dropout", 0.1), "", ErrUnsupported, "dropout"},
		{"prefix", model("continuing_subword_prefix", "##"), "", ErrUnsupported, "continuing_subword_prefix"},
		{"suffix", model("end_of_word_suffix", "</w>"), "", ErrUnsupported, "end_of_word_suffix"},
		{"byte fallback", model("byte_fallback", true), "", ErrUnsupported, "byte_fallback"},
		{"no bytes", model("vocab", map[string]any{"a": 0}), "", ErrCorrupt, "byte-level"},
		{"merge of strangers", model("merges", []any{"a q"}), "", ErrCorrupt, "merges[0]"},
		{"merge of three", model("merges", []any{[]any{"a", "b", "c"}}), "", ErrCorrupt, "3 parts"},
		{"merge of one", model("merges", []any{"ab"}), "", ErrCorrupt, "two parts"},
		{"lower case", top("normalizer", typed("Lowercase")), "", ErrUnsupported, "Lowercase"},
		{"metaspace", top("pre_tokenizer", typed("Metaspace")), "", ErrUnsupported, "Metaspace"},
		{"no pre-tokenizer", top("pre_tokenizer", nil), "", ErrUnsupported, "ByteLevel"},
		{"split removed", top("pre_tokenizer", map[string]any{"type": "Split", "pattern": map[string]any{"Regex": "a"}, "behavior": "Removed"}), "", ErrUnsupported, "Removed"},
		{"split by string", top("pre_tokenizer", map[string]any{"type": "Split", "pattern": map[string]any{"String": "a"}, "behavior": "Isolated"}), "", ErrUnsupported, "Regex"},
		{"no decoder", top("decoder", nil), "", ErrUnsupported, "decoder"},
		{"other decoder", top("decoder", typed("WordPiece")), "", ErrUnsupported, "WordPiece"},
		{"template", top("post_processor", typed("TemplateProcessing")), "", ErrUnsupported, "TemplateProcessing"},
		{"id twice", model("vocab", func() any {
			v := maps.Clone(tiny()["model"].(map[string]any)["vocab"].(map[string]any))
			v["zz"] = 7
			return v
		}()), "", ErrCorrupt, "id 7"},
		{"huge id", top("added_tokens", []any{map[string]any{"id": 1 << 30, "content": "x"}}), "", ErrCorrupt, "1073741824"},
		{"negative id", top("added_tokens", []any{map[string]any{"id": -1, "content": "x"}}), "", ErrCorrupt, "-1"},
		{"added over vocab", top("added_tokens", []any{map[string]any{"id": 5, "content": "x<"}}), "", ErrCorrupt, "already"},
		{"added elsewhere", top("added_tokens", []any{map[string]any{"id": 300, "content": "ab"}}), "", ErrCorrupt, "elsewhere"},
		{"added twice", top("added_tokens", []any{map[string]any{"id": 300, "content": "x<"}, map[string]any{"id": 300, "content": "y<"}}), "", ErrCorrupt, "twice"},
		{"empty added", top("added_tokens", []any{map[string]any{"id": 300, "content": ""}}), "", ErrCorrupt, "empty"},
		{"bos", nil, `{"add_bos_token":true}`, ErrUnsupported, "add_bos_token"},
		{"split special", nil, `{"split_special_tokens":true}`, ErrUnsupported, "split_special_tokens"},
		{"files differ", nil, `{"added_tokens_decoder":{"258":{"content":"<t>"}}}`, ErrCorrupt, "<t>"},
		{"bad key", nil, `{"added_tokens_decoder":{"x":{"content":"<t>"}}}`, ErrCorrupt, `"x"`},
		{"bad config", nil, `{`, ErrCorrupt, "tokenizer_config.json"},
	} {
		tree := tiny()
		if c.broken != nil {
			c.broken(tree)
		}
		_, err := loadTree(t, tree, c.config)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got error %v, want %v naming %q", c.name, err, c.want, c.text)
		}
	}
	if _, err := Load([]byte("{"), nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("half a file: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	raw, err := json.Marshal(tiny())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte(`{"eos_token":"<s>"}`))
	f.Add([]byte(`{"model":{"vocab":{"a":-1},"merges":["a b"]}}`), []byte(`{"added_tokens_decoder":{"99999999999":{}}}`))
	f.Fuzz(func(t *testing.T, raw, conf []byte) {
		tok, err := Load(raw, conf)
		if err != nil {
			return
		}
		if _, err := tok.Encode("ab <s> x"); err != nil && !strings.Contains(err.Error(), "tokenizer") {
			t.Fatal(err)
		}
	})
}
