package lanes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/bus"
)

func board(t *testing.T, env map[string]string) *Board {
	t.Helper()
	s, err := Resolve(func(k string) (string, bool) { v, ok := env[k]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewBoard(s, map[Lane]Verdict{
		PLE: {Installed: true, Report: map[string]any{"variant": "async_aux", "pending_limit": 2}},
		QSA: {Reason: "no QSA layer"},
	})
}

func TestSwitch(t *testing.T) {
	b := board(t, nil)
	a := &Actor{Board: b, Bus: &bus.Bus{}, Log: zerolog.Nop()}
	events := a.Bus.Listen(t.Context())
	for i, on := range []bool{false, false, true} {
		s, err := a.apply(Set{Name: "ple_cached_aux", Enabled: on})
		if err != nil || s.Enabled != on || b.Bits().Has(PLE) != on {
			t.Fatalf("switch %d: got %+v, %v, bits %v, want enabled %v", i, s, err, b.Bits(), on)
		}
	}
	if got := b.State(PLE).Switches; got != 2 {
		t.Errorf("switches: got %d, want 2 (asking for what is in force changes nothing)", got)
	}
	if got := len(events); got != 2 {
		t.Errorf("events: got %d, want 2", got)
	}
	if _, err := a.apply(Set{Name: "qsa_pooled_rowsel", Enabled: true}); !errors.Is(err, ErrDeclined) {
		t.Errorf("arming a declined lane: got %v, want ErrDeclined", err)
	}
	if _, err := a.apply(Set{Name: "nope"}); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "ple_cached_aux") {
		t.Errorf("unknown lane: got %v, want ErrUnknown that lists the lanes", err)
	}
}

func TestDefaults(t *testing.T) {
	b := board(t, map[string]string{"FLASHLANE_PLE_CACHED_AUX": "0"})
	raw, err := json.Marshal(b.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"model_gate":"qwen4_exp"`, `"lanes":["ple_cached_aux","qsa_pooled_rowsel"]`, `"armed_by_default":[]`,
		`"operator_off":[{"key":"FLASHLANE_PLE_CACHED_AUX","lane":"ple_cached_aux","value":"0"}]`, `"operator_pinned":[]`,
		`"disabled_lanes":["ple_cached_aux"]`, `"status":"off"`, `"status":"declined"`, `"pending_limit":2`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("defaults lack %s in\n%s", want, raw)
		}
	}
	if got, _ := b.VerdictLine(QSA); !strings.Contains(got, "declined to stock: no QSA layer") {
		t.Errorf("verdict line: got %q", got)
	}
	if got, fields := b.VerdictLine(PLE); !strings.Contains(got, "switched off at start") || fields["variant"] != "async_aux" {
		t.Errorf("verdict line: got %q with %v", got, fields)
	}
}
