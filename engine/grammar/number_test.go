package grammar

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"testing"
)

var spelling = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// Every text of up to five characters, and texts around the bounds, against exact arithmetic.
func TestNumbersAreExact(t *testing.T) {
	var texts []string
	grow := []string{""}
	for range 5 {
		var next []string
		for _, s := range grow {
			for _, c := range "0159-." {
				if s := s + string(c); spelling.MatchString(s+"0") || s == "-" || spelling.MatchString(s) {
					next = append(next, s)
				}
			}
		}
		texts = append(texts, next...)
		grow = next
	}
	r := rand.New(rand.NewPCG(1, 1))
	bound := func() *decimal {
		if r.IntN(5) == 0 {
			return nil
		}
		text := fmt.Sprintf("%d", r.IntN(20))
		if r.IntN(2) == 0 {
			text = fmt.Sprintf("%d", r.IntN(2000))
		}
		if r.IntN(2) == 0 {
			text += fmt.Sprintf(".%d", r.IntN(200))
		}
		if r.IntN(2) == 0 {
			text = "-" + text
		}
		d, _, ok := parseDecimal(text)
		if !ok {
			t.Fatal(text)
		}
		return &d
	}
	for range 150 {
		c := interval{r.IntN(2) == 0, bound(), bound(), r.IntN(2) == 0, r.IntN(2) == 0}
		a := newAutomaton(c)
		some := false
		for _, text := range texts {
			want := c.holds(text)
			some = some || want
			if got := a != nil && a.reads(text); got != want {
				t.Fatalf("%s: %q: %v, want %v", c.key(), text, got, want)
			}
		}
		if a == nil && some {
			t.Fatalf("%s: no automaton", c.key())
		}
	}
}

func (a *automaton) reads(text string) bool {
	state := 0
	for i := range len(text) {
		if state = a.step(uint32(state), text[i]); state < 0 {
			return false
		}
	}
	return a.accept[state]
}

func (r interval) holds(text string) bool {
	if !spelling.MatchString(text) {
		return false
	}
	x, _ := new(big.Rat).SetString(text)
	if x.Sign() == 0 && text[0] == '-' {
		return false
	}
	for i := range len(text) {
		if r.integer && text[i] == '.' {
			return false
		}
	}
	if r.low != nil {
		b, _ := new(big.Rat).SetString(r.low.String())
		if c := x.Cmp(b); c < 0 || c == 0 && r.openLow {
			return false
		}
	}
	if r.high != nil {
		b, _ := new(big.Rat).SetString(r.high.String())
		if c := x.Cmp(b); c > 0 || c == 0 && r.openUp {
			return false
		}
	}
	return true
}

func TestDecimals(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0.0": "0", "1e3": "1000", "12.500": "12.5", "-1.5e-3": "-0.0015", "1E+2": "100", "0.001e2": "0.1", "100": "100", "0e99999999999999999999": "0",
	} {
		if d, _, ok := parseDecimal(text); !ok || d.String() != want {
			t.Errorf("%s: %s (%v), want %s", text, d, ok, want)
		}
	}
	for text, want := range map[string]bool{"1e41": true, "1e99999999999999999999": true, "1e-41": false, "1e-99999999999999999999": false} {
		if _, huge, ok := parseDecimal(text); ok || huge != want {
			t.Errorf("%s: ok %v, huge %v, want false, %v", text, ok, huge, want)
		}
	}
}
