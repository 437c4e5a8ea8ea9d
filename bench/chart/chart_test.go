package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/bench/chart"
)

// elements parses the SVG, which must be well-formed, and counts its elements.
func elements(t testing.TB, svg string) map[string]int {
	t.Helper()
	n := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			n[e.Name.Local]++
		}
	}
}

func TestSVG(t *testing.T) {
	f := chart.Figure{Title: `a <b> & "c"`, Notes: []string{"note"}, Panels: []chart.Panel{
		{Title: "rates", X: "window", Y: "tok/s", Ticks: []string{"control", "a", "control"}, Lines: []chart.Line{
			{Name: "seed 1", X: []float64{0, 1, 2}, Y: []float64{100, 120, 101}, Points: true},
			{Name: "seed 2", X: []float64{0, 1, 2}, Y: []float64{90, 130, 95}, Points: true},
		}},
		{Title: "times", X: "ms", Y: "%", LogX: true, FromY0: true, Lines: []chart.Line{chart.Distribution("x", []float64{3, 1, 200, 0}, 0.1)}},
	}}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	n := elements(t, svg)
	if n["polyline"] != 3 || n["circle"] != 4 || n["rect"] != 1+4 {
		t.Errorf("got %v, want 3 lines, 3+1 circles, 3+1 squares and the page", n)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "seed 1", "control", "&lt;b&gt; &amp;", ">130<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	if again, _ := f.SVG(); again != svg {
		t.Error("the same figure gave other bytes")
	}
}

func TestRefuses(t *testing.T) {
	panel := func(x, y []float64, log bool) error {
		_, err := (&chart.Figure{Panels: []chart.Panel{{LogX: log, Lines: []chart.Line{{X: x, Y: y}}}}}).SVG()
		return err
	}
	for name, err := range map[string]error{
		"no points":    panel(nil, nil, false),
		"nan":          panel([]float64{1}, []float64{math.NaN()}, false),
		"infinite":     panel([]float64{math.Inf(1)}, []float64{1}, false),
		"zero on log":  panel([]float64{0}, []float64{1}, true),
		"other length": panel([]float64{1, 2}, []float64{1}, false),
	} {
		if !errors.Is(err, chart.ErrEmpty) {
			t.Errorf("%s: got %v, want ErrEmpty", name, err)
		}
	}
	if _, err := (&chart.Figure{}).SVG(); !errors.Is(err, chart.ErrEmpty) {
		t.Errorf("no panel: got %v", err)
	}
}

// Whatever the values, every point lies inside of the plot and there are a handful of ticks.
func TestPointsLieInside(t *testing.T) {
	points := regexp.MustCompile(`<polyline[^>]* points="([^"]*)"`)
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		low := -1e6
		if log {
			low = 1e-4
		}
		n := rapid.IntRange(1, 30).Draw(t, "n")
		xs := rapid.SliceOfN(rapid.Float64Range(low, 1e6), n, n).Draw(t, "x")
		ys := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e9), n, n).Draw(t, "y")
		svg, err := (&chart.Figure{Panels: []chart.Panel{{LogX: log, Lines: []chart.Line{{X: xs, Y: ys}}}}}).SVG()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(points.FindStringSubmatch(svg)[1]) {
			a, b, _ := strings.Cut(p, ",")
			x, err1 := strconv.ParseFloat(a, 64)
			y, err2 := strconv.ParseFloat(b, 64)
			if err1 != nil || err2 != nil || x < 63.9 || x > 444.1 || y < 59.9 || y > 300.1 {
				t.Fatalf("point %s is outside of the plot", p)
			}
		}
		if lines := strings.Count(svg, `class="grid"`); lines < 4 || lines > 26 {
			t.Fatalf("got %d grid lines", lines)
		}
	})
}
