package qsa

import (
	"errors"
	"testing"
)

func TestGeometry(t *testing.T) {
	g := Geometry{Heads: 4, Dim: 128, Ratio: 4, Budget: 2048, Eps: 1e-6}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	// Spec 2.5: up to 2051 visible positions attention is dense; the first sparse query is t = 2051.
	if g.Top() != 512 || !g.Dense(2051) || g.Dense(2052) {
		t.Errorf("top %d, dense(2051) %v, dense(2052) %v", g.Top(), g.Dense(2051), g.Dense(2052))
	}
	for name, change := range map[string]func(*Geometry){
		"heads":  func(g *Geometry) { g.Heads = 0 },
		"dim":    func(g *Geometry) { g.Dim = 1 },
		"ratio":  func(g *Geometry) { g.Ratio = 0 },
		"budget": func(g *Geometry) { g.Budget = 3 },
		"eps":    func(g *Geometry) { g.Eps = 0 },
	} {
		x := g
		change(&x)
		if err := x.Validate(); !errors.Is(err, ErrGeometry) {
			t.Errorf("%s: got %v, want ErrGeometry", name, err)
		}
	}
}

// MaxNew is exactly the most blocks that m rows complete, over all residues of the first position.
func TestMaxNew(t *testing.T) {
	for ratio := 1; ratio <= 9; ratio++ {
		g := Geometry{Heads: 1, Dim: 2, Ratio: ratio, Budget: 100, Eps: 1}
		for m := 0; m <= 40; m++ {
			most := 0
			for pos := range 2 * ratio {
				most = max(most, g.Complete(pos+m)-g.Complete(pos))
			}
			if got := g.MaxNew(m); got != most {
				t.Errorf("ratio %d, %d rows: got %d, want %d", ratio, m, got, most)
			}
		}
	}
}
