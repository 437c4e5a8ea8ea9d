package chart

import (
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels.
const (
	panelW, panelH = 380, 240 // of the plot itself
	left, right    = 64, 24
	headLine       = 18
	below          = 52
	keyLine        = 18
)

// style has one colour per line for light pages and one for dark ones; markers and dashes repeat at another period.
const style = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink) }
  .title { font-size: 15px; font-weight: 600 } .panel { font-weight: 600 } .soft { fill: var(--soft) }
  .page { fill: var(--page) } .grid { stroke: var(--grid) } .axis { stroke: var(--soft) }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round } .dot { stroke: var(--page); stroke-width: 1 }
  svg { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --grid: #d8dee4;
    --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989; --c5: #7d4e00 }
  @media (prefers-color-scheme: dark) { svg { --page: #0d1117; --ink: #e6edf3; --soft: #9198a1; --grid: #30363d;
    --c0: #4493f8; --c1: #f0883e; --c2: #3fb950; --c3: #ab7df8; --c4: #f778ba; --c5: #d29922 } }
`

var dashes = []string{"", "7 3", "2 3", "9 3 2 3"}

// SVG draws the figure.
func (f *Figure) SVG() (string, error) {
	if len(f.Panels) == 0 {
		return "", fmt.Errorf("%w: no panel", ErrEmpty)
	}
	keys := 0
	for _, p := range f.Panels {
		keys = max(keys, len(p.Lines))
	}
	top := 34 + headLine*len(f.Notes) + 26
	width := len(f.Panels) * (left + panelW + right)
	height := top + panelH + below + keyLine*keys + 8
	b := &strings.Builder{}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		width, height, width, height, html.EscapeString(f.Title))
	fmt.Fprintf(b, "\n<style>%s</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", style, width, height)
	text(b, 16, 24, "title", "start", f.Title)
	for i, n := range f.Notes {
		text(b, 16, 24+float64(headLine*(i+1)), "soft", "start", n)
	}
	for i := range f.Panels {
		if err := f.Panels[i].draw(b, float64(i*(left+panelW+right)+left), float64(top)); err != nil {
			return "", err
		}
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

func text(b *strings.Builder, x, y float64, class, anchor, s string) {
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, html.EscapeString(s))
}

func stroke(b *strings.Builder, class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2)
}

// draw puts the panel's plot with its upper left corner at (x0, y0).
func (p *Panel) draw(b *strings.Builder, x0, y0 float64) error {
	x, y, err := p.check()
	if err != nil {
		return err
	}
	px := func(v float64) float64 { return x0 + panelW*x.at(v) }
	py := func(v float64) float64 { return y0 + panelH*(1-y.at(v)) }
	text(b, x0, y0-10, "panel", "start", p.Title)
	for _, v := range y.ticks() {
		stroke(b, "grid", x0, py(v), x0+panelW, py(v))
		text(b, x0-8, py(v)+4, "soft", "end", y.label(v))
	}
	if len(p.Ticks) > 0 {
		for i, name := range p.Ticks {
			stroke(b, "axis", px(float64(i)), y0+panelH, px(float64(i)), y0+panelH+4)
			text(b, px(float64(i)), y0+panelH+18, "soft", "middle", name)
		}
	} else {
		for _, v := range x.ticks() {
			stroke(b, "grid", px(v), y0, px(v), y0+panelH)
			text(b, px(v), y0+panelH+18, "soft", "middle", x.label(v))
		}
	}
	stroke(b, "axis", x0, y0+panelH, x0+panelW, y0+panelH)
	stroke(b, "axis", x0, y0, x0, y0+panelH)
	text(b, x0+panelW/2, y0+panelH+38, "soft", "middle", p.X)
	fmt.Fprintf(b, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" class=\"soft\" text-anchor=\"middle\">%s</text>\n", x0-48, y0+panelH/2, html.EscapeString(p.Y))
	for i, l := range p.Lines {
		colour, dash := fmt.Sprintf("var(--c%d)", i%6), dashes[i%len(dashes)]
		var points []string
		for k := range l.X {
			points = append(points, fmt.Sprintf("%.1f,%.1f", px(l.X[k]), py(l.Y[k])))
		}
		fmt.Fprintf(b, "<polyline class=\"line\" style=\"stroke:%s\" stroke-dasharray=\"%s\" points=\"%s\"/>\n", colour, dash, strings.Join(points, " "))
		if l.Points {
			for k := range l.X {
				marker(b, i, px(l.X[k]), py(l.Y[k]), colour)
			}
		}
		ky := y0 + panelH + below + keyLine*float64(i) + 4
		fmt.Fprintf(b, "<line class=\"line\" style=\"stroke:%s\" stroke-dasharray=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", colour, dash, x0, ky-4, x0+28, ky-4)
		if l.Points {
			marker(b, i, x0+14, ky-4, colour)
		}
		text(b, x0+36, ky, "key", "start", l.Name)
	}
	return nil
}

// marker is a circle, a square, a triangle or a diamond.
func marker(b *strings.Builder, i int, x, y float64, colour string) {
	switch i % 4 {
	case 0:
		fmt.Fprintf(b, "<circle class=\"dot\" style=\"fill:%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n", colour, x, y)
	case 1:
		fmt.Fprintf(b, "<rect class=\"dot\" style=\"fill:%s\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"/>\n", colour, x-4, y-4)
	case 2:
		fmt.Fprintf(b, "<path class=\"dot\" style=\"fill:%s\" d=\"M%.1f %.1fl5 9h-10z\"/>\n", colour, x, y-5)
	default:
		fmt.Fprintf(b, "<path class=\"dot\" style=\"fill:%s\" d=\"M%.1f %.1fl5 5 -5 5 -5 -5z\"/>\n", colour, x, y-5)
	}
}
