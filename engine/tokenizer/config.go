package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// config is tokenizer_config.json as far as it matters for ids and text.
type config struct {
	added map[int32]addedToken
	named map[string]string
}

func readConfig(raw []byte) (config, error) {
	c := config{named: map[string]string{}}
	if isNull(raw) {
		return c, nil
	}
	var f struct {
		AddedTokensDecoder map[string]addedToken `json:"added_tokens_decoder"`
		AddBOS             bool                  `json:"add_bos_token"`
		AddEOS             bool                  `json:"add_eos_token"`
		PrefixSpace        bool                  `json:"add_prefix_space"`
		SplitSpecial       bool                  `json:"split_special_tokens"`
		CleanUp            bool                  `json:"clean_up_tokenization_spaces"`
		BOS                json.RawMessage       `json:"bos_token"`
		EOS                json.RawMessage       `json:"eos_token"`
		PAD                json.RawMessage       `json:"pad_token"`
		UNK                json.RawMessage       `json:"unk_token"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return c, fmt.Errorf("tokenizer: tokenizer_config.json: %w: %w", ErrCorrupt, err)
	}
	for name, on := range map[string]bool{
		"add_bos_token": f.AddBOS, "add_eos_token": f.AddEOS, "add_prefix_space": f.PrefixSpace,
		"split_special_tokens": f.SplitSpecial, "clean_up_tokenization_spaces": f.CleanUp,
	} {
		if on {
			return c, fmt.Errorf("tokenizer: tokenizer_config.json: %s is true, want false: %w", name, ErrUnsupported)
		}
	}
	for role, raw := range map[string]json.RawMessage{"bos_token": f.BOS, "eos_token": f.EOS, "pad_token": f.PAD, "unk_token": f.UNK} {
		if isNull(raw) {
			continue
		}
		s, err := tokenName(raw)
		if err != nil {
			return c, fmt.Errorf("tokenizer: tokenizer_config.json: %s: %w: %w", role, ErrCorrupt, err)
		}
		c.named[role] = s
	}
	c.added = make(map[int32]addedToken, len(f.AddedTokensDecoder))
	for key, a := range f.AddedTokensDecoder {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return c, fmt.Errorf("tokenizer: tokenizer_config.json: added_tokens_decoder: key %q is no id: %w", key, ErrCorrupt)
		}
		a.ID = int32(id)
		c.added[a.ID] = a
	}
	return c, nil
}

// tokenName reads a token given as a string or as an object with "content".
func tokenName(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var o struct {
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return "", err
	}
	if o.Content == nil {
		return "", fmt.Errorf("object without content")
	}
	return *o.Content, nil
}

// merge joins the added tokens of both files: the config's flags win, as when the reference library loads a pack; tokens that
// only the config has are added. A different string for the same id is an error.
func (c config) merge(tokens []addedToken) ([]addedToken, error) {
	out := slices.Clone(tokens)
	seen := make(map[int32]bool, len(out))
	for i, t := range out {
		if seen[t.ID] {
			return nil, corrupt("added_tokens has id %d twice", t.ID)
		}
		seen[t.ID] = true
		if a, ok := c.added[t.ID]; ok {
			if a.Content != t.Content {
				return nil, fmt.Errorf("tokenizer: added token %d is %q in tokenizer.json and %q in tokenizer_config.json: %w", t.ID, t.Content, a.Content, ErrCorrupt)
			}
			out[i] = a
		}
	}
	var extra []int32
	for id := range c.added {
		if !seen[id] {
			extra = append(extra, id)
		}
	}
	slices.Sort(extra)
	for _, id := range extra {
		out = append(out, c.added[id])
	}
	return out, nil
}
