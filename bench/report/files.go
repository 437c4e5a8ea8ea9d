package report

import (
	"encoding/json"
	"fmt"
	"os"
)

// Files are what a measurement leaves behind.
type Files struct {
	Markdown string
	JSON     any
	SVG      string // "": no chart
}

// Save writes BASE.md, BASE.json and BASE.svg and returns their names.
func (f Files) Save(base string) ([]string, error) {
	raw, err := json.MarshalIndent(f.JSON, "", " ")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var names []string
	for _, file := range []struct{ name, text string }{{base + ".md", f.Markdown}, {base + ".json", string(raw) + "\n"}, {base + ".svg", f.SVG}} {
		if file.text == "" {
			continue
		}
		if err := os.WriteFile(file.name, []byte(file.text), 0o644); err != nil {
			return names, fmt.Errorf("report: %w", err)
		}
		names = append(names, file.name)
	}
	return names, nil
}
