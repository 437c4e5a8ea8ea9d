package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFresh fails if a committed file is not what the generator writes.
func TestFresh(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if string(got) != want {
			t.Errorf("%s is stale: run go generate ./metal/cpu", name)
		}
	}
}
