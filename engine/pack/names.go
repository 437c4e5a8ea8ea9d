package pack

import "strings"

// prefixes are what the family's writers put in front of the text model's names, longest first.
var prefixes = [...]string{"model.language_model.", "language_model.model.", "language_model.", "model."}

// canonical is a tensor's name without its container's prefix: "layers.0.mlp.gate.weight", "lm_head.weight",
// "mtp.fc_hidden.weight", whatever file it lies in.
func canonical(name string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return rest
		}
	}
	return name
}

// foreign reports whether a canonical name belongs to the vision tower, which this engine does not run.
func foreign(canon string) bool {
	return strings.HasPrefix(canon, "visual.") || strings.HasPrefix(canon, "vision_tower.") || strings.HasPrefix(canon, "vision_model.")
}
