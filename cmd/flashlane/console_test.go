package main

import (
	"strings"
	"testing"
)

// TestConsoleColours: a pipe gets none, a terminal does unless the environment says otherwise.
func TestConsoleColours(t *testing.T) {
	_, stderr, code := runProgram(t, "generate", "hello", "--max-tokens", "1", "--log-format", "console", "--log-level", "debug")
	if code != 0 || !strings.Contains(stderr, "armed") || strings.Contains(stderr, "\x1b") {
		t.Errorf("on a pipe: exit %d, %q, want log lines without escapes", code, stderr)
	}
	for _, c := range []struct {
		terminal bool
		key      string
		value    string
		want     bool
	}{
		{true, "", "", true}, {false, "", "", false}, {true, "NO_COLOR", "1", false}, {true, "NO_COLOR", "", true},
		{true, "TERM", "dumb", false}, {true, "TERM", "xterm", true},
	} {
		env := func(key string) string {
			if key == c.key {
				return c.value
			}
			return ""
		}
		if got := colours(c.terminal, env); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
