package cpu

import (
	"os"
	"strings"
	"testing"
)

// TestKernelSets checks that every set is whole, so that no call finds a hole where a kernel should be. On a machine whose sets are
// known (make arm64), FLASHLANE_WANT_KERNELS lists them: one that is not detected fails instead of going untested.
func TestKernelSets(t *testing.T) {
	var names []string
	sets := kernelSets()
	for _, s := range kernelSets() {
		names = append(names, s.name)
		s.makeFast()
		sets = append(sets, s)
	}
	for _, s := range sets {
		for l := range layouts {
			if l == layNarrow && s.rows[l] == 0 && s.name != "avx512" {
				continue
			}
			if s.rows[l] < 1 || s.rows[l] > maxRows {
				t.Fatalf("%s, layout %d: got %d rows, want 1 to %d", s.name, l, s.rows[l], maxRows)
			}
			for r := range s.rows[l] {
				if s.linear[l][r] == nil {
					t.Errorf("%s, layout %d: no kernel for %d rows", s.name, l, r+1)
				}
			}
			if s.wide[l] > 0 && s.expand[l] == nil {
				t.Errorf("%s, layout %d: nothing expands its tiles", s.name, l)
			}
		}
		if s.prepare == nil || s.siluMul == nil || s.sigmoidMul == nil || s.addGated == nil || s.siluScale == nil || s.expShift == nil || s.addScaled == nil {
			t.Errorf("%s: got %+v, want no nil", s.name, s)
		}
		if (s.simd() == simdNone) != (s.name == "go") {
			t.Errorf("%s: got assembly %d outside Linear, want some in every set but the portable one", s.name, s.simd())
		}
	}
	got := strings.Join(names, " ")
	if !strings.HasSuffix(" "+got, " go") {
		t.Errorf("got sets %q, want the portable one last", got)
	}
	if want := os.Getenv("FLASHLANE_WANT_KERNELS"); want != "" && got != want {
		t.Errorf("got sets %q, want %q", got, want)
	}
}
