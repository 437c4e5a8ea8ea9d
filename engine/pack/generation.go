package pack

// Generation is generation_config.json: the model's own sampling settings. A nil field is absent from the file.
type Generation struct {
	DoSample          *bool // false asks for greedy decoding
	Temperature       *float64
	TopP              *float64
	MinP              *float64
	TopK              *int
	RepetitionPenalty *float64
	PresencePenalty   *float64
	FrequencyPenalty  *float64
	EOS               []int32
}

// parseGeneration reads generation_config.json for a vocabulary.
func parseGeneration(data []byte, vocab int) (Generation, error) {
	f, err := readFields("generation_config.json", data)
	if err != nil {
		return Generation{}, err
	}
	number := func(key string, lo, hi float64) *float64 {
		if !f.has(key) {
			return nil
		}
		v := f.floatOr(key, 0, lo, hi)
		return &v
	}
	g := Generation{
		Temperature:       number("temperature", 0, 1e6),
		TopP:              number("top_p", 0, 1),
		MinP:              number("min_p", 0, 1),
		RepetitionPenalty: number("repetition_penalty", 1e-6, 1e6),
		PresencePenalty:   number("presence_penalty", -1e6, 1e6),
		FrequencyPenalty:  number("frequency_penalty", -1e6, 1e6),
		EOS:               f.ids("eos_token_id", int64(vocab)),
	}
	if f.has("top_k") {
		k := int(f.integerOr("top_k", 0, -1, maxVocab))
		k = max(k, 0) // -1 and 0 both mean off
		g.TopK = &k
	}
	if f.has("do_sample") {
		b := f.boolOr("do_sample", true)
		g.DoSample = &b
	}
	return g, *f.err
}
