package report

import (
	"strings"
	"unicode/utf8"
)

// Table is rows of cells below a head. Columns whose cells all begin with a digit, a sign or a dash are aligned to the right.
type Table struct {
	Head []string
	Rows [][]string
}

// Row appends a row; cells beyond the head are a mistake of the caller.
func (t *Table) Row(cells ...string) {
	if len(cells) != len(t.Head) {
		panic("report: " + strings.Join(cells, "|") + ": the table has other columns")
	}
	t.Rows = append(t.Rows, cells)
}

// String is the table as Markdown, padded so that it is a table as plain text too.
func (t *Table) String() string {
	width, right := make([]int, len(t.Head)), make([]bool, len(t.Head))
	for c, h := range t.Head {
		width[c] = max(3, utf8.RuneCountInString(h))
		right[c] = len(t.Rows) > 0
		for _, r := range t.Rows {
			width[c] = max(width[c], utf8.RuneCountInString(r[c]))
			right[c] = right[c] && (r[c] == "" || strings.ContainsRune("0123456789+-–", []rune(r[c])[0]))
		}
	}
	b := &strings.Builder{}
	line := func(cells []string) {
		for c, s := range cells {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(s))
			b.WriteString("| ")
			if right[c] {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
			b.WriteString(" ")
		}
		b.WriteString("|\n")
	}
	line(t.Head)
	for c := range t.Head {
		dashes := strings.Repeat("-", width[c])
		if right[c] {
			dashes = dashes[1:] + ":"
		}
		b.WriteString("| " + dashes + " ")
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		line(r)
	}
	return b.String()
}
