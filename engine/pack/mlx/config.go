package mlx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Config is config.json for the planned pack: the model's own text config, nested as the layout has it, with what the
// layout adds: where the table and the head lie, and the quantisation with an entry for each module that differs from the
// default. source is the config the model came with, flat or nested.
func (p *Plan) Config(source []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(source))
	dec.UseNumber() // numbers are copied as they are written
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	text, nested := root["text_config"].(map[string]any)
	if !nested {
		text, root = root, map[string]any{}
	}
	for _, m := range []map[string]any{root, text} {
		for _, key := range []string{"architectures", "transformers_version", "vision_config", "quantization", "quantization_config", "mlx_lm_extra_tensors", "ngram_sidecar"} {
			delete(m, key)
		}
	}
	root["architectures"] = []string{"Qwen4ExpForConditionalGeneration"}
	root["model_type"], text["model_type"] = "qwen4_exp", "qwen4_exp_text"
	root["text_config"] = text
	if ids := p.config.StopIDs; len(ids) > 0 {
		root["eos_token_id"] = ids
	}
	for _, key := range []string{"dtype", "torch_dtype"} {
		if text[key] != nil {
			text[key] = "bfloat16" // what was wider was cast
		}
	}
	p.headConfig(root, text)
	extra := map[string]any{}
	if len(p.tables) > 0 {
		text["ngram_sidecar"] = true
		extra["ngram_file"] = tableFile
	}
	if p.o.Head {
		extra["mtp_file"] = headFile
	}
	if len(extra) > 0 {
		root["mlx_lm_extra_tensors"] = extra
	}
	if p.o.Recipe.Default.Quantised() {
		root["quantization"] = p.quantization()
	}
	out, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	return append(out, '\n'), nil
}

// headConfig says whether there is a head, and one of the kind that this layout has; the source's own words stay where they
// agree.
func (p *Plan) headConfig(root, text map[string]any) {
	if !p.o.Head {
		delete(text, "mtp")
		delete(root, "mtp")
		text["mtp_num_hidden_layers"] = 0
		return
	}
	text["mtp_num_hidden_layers"] = 1
	if text["mtp_use_dedicated_embeddings"] != nil {
		text["mtp_use_dedicated_embeddings"] = false
	}
}

// quantization is the default of the recipe and, by name, what differs from it.
func (p *Plan) quantization() map[string]any {
	def := p.o.Recipe.Default
	out := map[string]any{"bits": def.Bits, "group_size": def.Group, "mode": "affine"}
	for _, name := range slices.Sorted(maps.Keys(p.rules)) {
		if f := p.rules[name]; f != def {
			out[name] = map[string]int{"bits": f.Bits, "group_size": f.Group}
		}
	}
	return out
}
