package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExamplesOfTheDocs runs every example of docs/api.md as it stands there, but for the address.
func TestExamplesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("npm/node_modules"); err != nil {
		install := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		install.Dir = "npm"
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	ran := map[string]int{}
	for _, m := range regexp.MustCompile("(?s)```(sh|go|js)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		kind, text := m[1], strings.ReplaceAll(m[2], "http://127.0.0.1:8080", flash.url)
		if text == m[2] {
			t.Errorf("an example of kind %s talks to no server:\n%s", kind, text)
		}
		ran[kind]++
		var cmd *exec.Cmd
		switch kind {
		case "sh":
			for line := range strings.Lines(text) {
				out, err := exec.Command("bash", "-c", strings.TrimSpace(line)).CombinedOutput()
				if err != nil || len(out) == 0 || strings.Contains(string(out), `"error"`) {
					t.Errorf("%s%v\n%s", line, err, out)
				}
			}
			continue
		case "go":
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd = exec.Command("go", "run", file)
		case "js":
			cmd = exec.Command("node", "--input-type=module", "-e", text)
			cmd.Dir = "npm"
		}
		if out, err := cmd.CombinedOutput(); err != nil || len(strings.TrimSpace(string(out))) == 0 {
			t.Errorf("example of kind %s: %v\n%s\n%s", kind, err, out, text)
		}
	}
	if ran["sh"] < 1 || ran["go"] < 2 || ran["js"] < 2 {
		t.Errorf("examples found: %v", ran)
	}
}
