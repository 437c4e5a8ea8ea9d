package lanes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	installed := Bits(0).With(PLE, true).With(QSA, true)
	cases := []struct {
		name     string
		env      map[string]string
		flags    []string
		disabled []string
		armed    []string
		off      int
		pinned   int
		err      string
	}{
		{name: "empty arms both", disabled: nil, armed: []string{"FLASHLANE_PLE_CACHED_AUX", "FLASHLANE_QSA_POOLED_ROWSEL"}},
		{name: "key 0", env: map[string]string{"FLASHLANE_QSA_POOLED_ROWSEL": "0"}, disabled: []string{"qsa_pooled_rowsel"},
			armed: []string{"FLASHLANE_PLE_CACHED_AUX"}, off: 1},
		{name: "alias off", env: map[string]string{"MTPLX_FABLE_PLE_CACHED_AUX": " Off "}, disabled: []string{"ple_cached_aux"},
			armed: []string{"FLASHLANE_QSA_POOLED_ROWSEL"}, off: 1},
		{name: "off wins over a pinned alias", env: map[string]string{"FLASHLANE_PLE_CACHED_AUX": "1", "MTPLX_FABLE_PLE_CACHED_AUX": "0"},
			disabled: []string{"ple_cached_aux"}, armed: []string{"FLASHLANE_QSA_POOLED_ROWSEL"}, off: 1, pinned: 1},
		{name: "blank is unset", env: map[string]string{"FLASHLANE_PLE_CACHED_AUX": " "}, armed: []string{"FLASHLANE_PLE_CACHED_AUX", "FLASHLANE_QSA_POOLED_ROWSEL"}},
		{name: "env list and flag are ORed", env: map[string]string{"FLASHLANE_DISABLE": "ple_cached_aux"}, flags: []string{"qsa_pooled_rowsel"},
			disabled: []string{"ple_cached_aux", "qsa_pooled_rowsel"}, armed: []string{}},
		{name: "all", flags: []string{"all"}, disabled: []string{"ple_cached_aux", "qsa_pooled_rowsel"}, armed: []string{}},
		{name: "alias list with spaces", env: map[string]string{"MTPLX_FABLE_DISABLE": "ple_cached_aux, qsa_pooled_rowsel"},
			disabled: []string{"ple_cached_aux", "qsa_pooled_rowsel"}, armed: []string{}},
		{name: "bogus flag", flags: []string{"bogus"}, err: "ple_cached_aux, qsa_pooled_rowsel"},
		{name: "bogus env", env: map[string]string{"FLASHLANE_DISABLE": "qsa_pooled_rowsel,bogus"}, err: `FLASHLANE_DISABLE: unknown lane "bogus"`},
		{name: "empty flag", flags: []string{""}, err: `unknown lane ""`},
		{name: "unknown word", env: map[string]string{"FLASHLANE_PLE_CACHED_AUX": "maybe"}, err: `got "maybe"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Resolve(func(k string) (string, bool) { v, ok := c.env[k]; return v, ok }, c.flags)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error: got %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range All() {
				if s.Disabled.Has(l) {
					got = append(got, l.String())
				}
			}
			if d := cmp.Diff(c.disabled, got); d != "" {
				t.Errorf("disabled (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.armed, s.Armed(installed)); d != "" {
				t.Errorf("armed (-want +got):\n%s", d)
			}
			if len(s.OperatorOff) != c.off || len(s.OperatorPinned) != c.pinned {
				t.Errorf("operator rows: got %d off %d pinned, want %d and %d", len(s.OperatorOff), len(s.OperatorPinned), c.off, c.pinned)
			}
		})
	}
}

func TestUnread(t *testing.T) {
	got := Unread([]string{"PATH=/bin", "FLASHLANE_PLE_CACHED_AUX=0", "FLASHLANE_PLE_CACHED_AX=0", "MTPLX_FABLE_DISABLE=all", "FLASHLANE_BIN=x"}, "FLASHLANE_BIN")
	if d := cmp.Diff([]string{"FLASHLANE_PLE_CACHED_AX"}, got); d != "" {
		t.Errorf("unread (-want +got):\n%s", d)
	}
}
