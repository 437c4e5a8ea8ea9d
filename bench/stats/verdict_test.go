package stats_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/bench/stats"
)

// order is the seeds' order of windows.
var order = []int{stats.Control, 1, 2, 2, 1, stats.Control}

func series(values ...float64) []stats.Window {
	var out []stats.Window
	for i, v := range values {
		out = append(out, stats.Window{Arm: order[i], Value: v})
	}
	return out
}

func compare(t *testing.T, d stats.Direction, values ...float64) stats.Bracket {
	t.Helper()
	b, err := stats.Compare(series(values...), d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func near(got, want float64) bool { return math.Abs(got-want) < 1e-12 }

func TestCompare(t *testing.T) {
	b := compare(t, stats.More, 98, 110, 121, 123, 112, 102)
	if !near(b.Control, 100) || !near(b.Noise, 0.04) || !near(b.Drift, 102./98-1) {
		t.Errorf("got control %v noise %v drift %v, want 100, 0.04, %v", b.Control, b.Noise, b.Drift, 102./98-1)
	}
	if a := b.Arms[1]; !near(a.Gain, 0.11) || !a.Beats || a.Loses {
		t.Errorf("arm 1: got %+v, want gain 0.11 that beats", a)
	}
	if a := b.Arms[2]; !near(a.Gain, 0.22) || !a.Beats {
		t.Errorf("arm 2: got %+v, want gain 0.22 that beats", a)
	}
	// The same figures as times: more is worse.
	b = compare(t, stats.Less, 98, 110, 121, 123, 112, 102)
	if a := b.Arms[1]; !near(a.Gain, 100./111-1) || a.Beats || !a.Loses {
		t.Errorf("as times, arm 1: got %+v, want a loss", a)
	}
}

// A machine that speeds up or slows down steadily makes no arm look better.
func TestDriftCancels(t *testing.T) {
	for _, slope := range []float64{-5, 5} {
		var values []float64
		for i := range order {
			values = append(values, 100+slope*float64(i))
		}
		b := compare(t, stats.More, values...)
		for arm, a := range b.Arms {
			if !near(a.Gain, 0) || a.Beats || a.Loses {
				t.Errorf("slope %v, arm %d: got %+v, want no gain", slope, arm, a)
			}
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	w := func(arm int, v float64) stats.Window { return stats.Window{Arm: arm, Value: v} }
	for name, windows := range map[string][]stats.Window{
		"nothing":         nil,
		"no control last": {w(0, 1), w(1, 1), w(1, 1)},
		"no arm":          {w(0, 1), w(0, 1), w(0, 1)},
		"zero":            {w(0, 1), w(1, 0), w(0, 1)},
		"nan":             {w(0, 1), w(1, math.NaN()), w(0, 1)},
		"infinite":        {w(0, 1), w(1, math.Inf(1)), w(0, 1)},
	} {
		if _, err := stats.Compare(windows, stats.More); !errors.Is(err, stats.ErrWindows) {
			t.Errorf("%s: got error %v, want ErrWindows", name, err)
		}
	}
	if _, err := stats.Judge(nil, 1); !errors.Is(err, stats.ErrWindows) {
		t.Errorf("no series: got error %v", err)
	}
	if _, err := stats.Judge([]stats.Bracket{compare(t, stats.More, 1, 1, 1, 1, 1, 1)}, 3); !errors.Is(err, stats.ErrWindows) {
		t.Errorf("unknown arm: got error %v", err)
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		series [][]float64
		arm    int
		want   stats.Kind
	}{
		{"clear gain", [][]float64{{100, 110, 120, 120, 110, 101}, {99, 109, 119, 120, 111, 100}, {50, 55, 60, 60, 55, 50}}, 1, stats.Gain},
		{"clear loss", [][]float64{{100, 90, 80, 80, 91, 101}, {99, 88, 79, 80, 90, 100}, {50, 45, 40, 40, 45, 50}}, 2, stats.Loss},
		{"clear, but two series only", [][]float64{{100, 110, 120, 120, 110, 101}, {99, 109, 119, 120, 111, 100}}, 1, stats.Unclear},
		{"no effect", [][]float64{{100, 101, 100, 102, 99, 102}, {101, 100, 102, 100, 101, 99}}, 1, stats.Neutral},
		{"exactly equal", [][]float64{{100, 100, 100, 100, 100, 100}}, 1, stats.Neutral},
		{"one window as slow as a control", [][]float64{{100, 120, 1, 1, 100, 100}}, 1, stats.Unclear},
		{"one seed of three overlaps", [][]float64{{100, 120, 1, 1, 121, 101}, {100, 120, 1, 1, 121, 101}, {100, 130, 1, 1, 100.5, 101}}, 1, stats.Unclear},
		{"separated but within noise", [][]float64{{100, 121, 1, 1, 122, 120}, {100, 121, 1, 1, 122, 120}, {100, 121, 1, 1, 122, 120}}, 1, stats.Unclear},
		{"a noisy seed spoils a quiet one", [][]float64{{100, 104, 1, 1, 104, 100}, {90, 104, 1, 1, 104, 110}}, 1, stats.Unclear},
		{"quiet enough to say that nothing is there", [][]float64{{100, 104, 1, 1, 104, 100}, {96, 102, 1, 1, 101, 104}}, 1, stats.Neutral},
	} {
		var all []stats.Bracket
		for _, values := range c.series {
			all = append(all, compare(t, stats.More, values...))
		}
		got, err := stats.Judge(all, c.arm)
		if err != nil || got.Kind != c.want {
			t.Errorf("%s: got %s (%s), error %v, want %s", c.name, got.Kind, got.Why, err, c.want)
		}
		if got.Low > got.Gain || got.High < got.Gain {
			t.Errorf("%s: gain %v outside of %v to %v", c.name, got.Gain, got.Low, got.High)
		}
	}
}

// On pure noise a gain or loss is claimed hardly ever, and a real gain of several times the noise is found nearly always.
func TestJudgeOnNoise(t *testing.T) {
	const runs, seeds = 4000, 3
	rng := rand.New(rand.NewPCG(20260829, 1))
	count := func(noise, gain float64) map[stats.Kind]int {
		kinds := map[stats.Kind]int{}
		for range runs {
			var all []stats.Bracket
			for range seeds {
				var values []float64
				for _, arm := range order {
					v := 1000 * (1 + noise*rng.NormFloat64())
					if arm == 1 {
						v *= 1 + gain
					}
					values = append(values, v)
				}
				all = append(all, compare(t, stats.More, values...))
			}
			v, err := stats.Judge(all, 1)
			if err != nil {
				t.Fatal(err)
			}
			kinds[v.Kind]++
		}
		return kinds
	}
	if k := count(0.03, 0); k[stats.Gain]+k[stats.Loss] > runs/100 || k[stats.Neutral] < runs*8/10 {
		t.Errorf("no effect: got %v of %d, want at most 1 %% gains and losses and at least 80 %% neutral", k, runs)
	}
	if k := count(0.01, 0.10); k[stats.Gain] < runs*98/100 {
		t.Errorf("gain of 10 %% at 1 %% noise: got %v of %d, want at least 98 %% gains", k, runs)
	}
	if k := count(0.01, -0.10); k[stats.Loss] < runs*98/100 {
		t.Errorf("loss of 10 %% at 1 %% noise: got %v of %d, want at least 98 %% losses", k, runs)
	}
}
