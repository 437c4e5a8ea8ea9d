package probe

import "testing"

func TestEveryDeviceAnswers(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Says == "" {
			t.Errorf("%s: got no answer, want what was found or why nothing was", f.Name)
		}
		seen[f.Name] = true
	}
	for _, name := range []string{"cuda", "metal"} {
		if !seen[name] {
			t.Errorf("no finding for %s", name)
		}
	}
}
