package quantise

import (
	"strings"
	"testing"
)

// The table of spec 5.3, module by module.
func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		module           string
		cols             int
		speed, eight, q4 string
	}{
		{"embed_tokens", 2560, "q8/64", "q8/64", "q4/32"},
		{"lm_head", 2560, "q8/64", "q8/64", "q4/32"},
		{"layers.0.linear_attn.in_proj_qkv", 2560, "q4/32", "q8/64", "q4/32"},
		{"layers.0.linear_attn.in_proj_a", 2560, "q4/32", "q8/64", "q4/32"},
		{"layers.0.linear_attn.out_proj", 6144, "q8/64", "q8/64", "q4/32"},
		{"layers.3.self_attn.q_proj", 2560, "q4/32", "q8/64", "q4/32"},
		{"layers.3.self_attn.o_proj", 6144, "q4/32", "q8/64", "q4/32"},
		{"layers.3.self_attn.indexer.index_qk_proj", 2560, "q8/64", "q8/64", "q4/32"},
		{"layers.0.mlp.gate", 2560, "q8/64", "q8/64", "q4/32"},
		{"layers.0.mlp.shared_expert_gate", 2560, "q8/64", "q8/64", "q4/32"},
		{"layers.0.mlp.shared_expert.gate_proj", 2560, "q8/64", "q8/64", "q4/32"},
		{"layers.0.mlp.switch_mlp.gate_proj", 2560, "q4/32", "q8/64", "q4/32"},
		{"layers.0.mlp.switch_mlp.down_proj", 640, "q4/32", "q8/64", "q4/32"},
		{"layers.0.mlp.switch_mlp.down_proj", 96, "q4/32", "q8/32", "q4/32"}, // nano's
		{"layers.0.mlp.switch_mlp.down_proj", 28, "bf16", "bf16", "bf16"},
		{"layers.0.attn_hyper_connection.input_mix_weight_down", 10240, "bf16", "bf16", "bf16"},
		{"hyper_connection_mixer.input_mix_weight_up", 320, "bf16", "bf16", "bf16"},
		{"layers.1.ple.key_proj", 2560, "bf16", "bf16", "bf16"},
		{"mtp.fc_embedding", 2560, "bf16", "bf16", "bf16"},
		{"mtp.layers.0.self_attn.q_proj", 2560, "q4/32", "q8/64", "q4/32"},
		{"mtp.layers.0.mlp.gate", 2560, "q8/64", "q8/64", "q4/32"},
		{"mtp.hyper_connection_mixer.input_mix_weight_up", 320, "bf16", "bf16", "bf16"},
	} {
		for recipe, want := range map[string]string{"optimized-speed": c.speed, "q8": c.eight, "q4": c.q4, "bf16": "bf16"} {
			r, err := ByName(recipe)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Module(c.module, c.cols).String(); got != want {
				t.Errorf("%s: %s of %d columns: got %s, want %s", recipe, c.module, c.cols, got, want)
			}
		}
	}
}

func TestTableFormats(t *testing.T) {
	for _, c := range []struct {
		recipe string
		dim    int
		want   string
	}{{"optimized-speed", 160, "q4/32"}, {"q8", 160, "q4/32"}, {"q4", 16, "bf16"}, {"bf16", 160, "bf16"}} {
		r, err := ByName(c.recipe)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Table(c.dim).String(); got != c.want {
			t.Errorf("%s: rows of %d: got %s, want %s", c.recipe, c.dim, got, c.want)
		}
	}
	if _, err := ByName("q5"); err == nil || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
		t.Errorf("q5: got %v, want an error that lists the recipes", err)
	}
}
