package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalize applies the file's normaliser.
func (t *Tokenizer) normalize(text string) string {
	if !t.nfc || norm.NFC.IsNormalString(text) {
		return text
	}
	if marks := longestMarks(text); marks >= streamSafe {
		return composeSlow(text)
	}
	return norm.NFC.String(text)
}

// streamSafe is where x/text departs from plain NFC: behind this many combining marks in a row it inserts U+034F (UAX 15, stream-safe
// text), which the reference tokenizers do not.
const streamSafe = 30

// longestMarks is the length of the longest run of characters that decompose to or are combining marks.
func longestMarks(text string) int {
	longest, run := 0, 0
	for i := 0; i < len(text); {
		p := norm.NFD.PropertiesString(text[i:])
		n := p.Size()
		if n == 0 {
			n = 1
		}
		marks := 0
		if d := p.Decomposition(); d != nil {
			for j := 0; j < len(d); {
				q := norm.NFD.Properties(d[j:])
				if q.CCC() != 0 {
					marks++
				}
				j += max(q.Size(), 1)
			}
		} else if p.CCC() != 0 {
			marks = 1
		}
		if p.CCC() != 0 {
			run += max(marks, 1)
		} else {
			run = marks
		}
		longest = max(longest, run)
		i += n
	}
	return longest
}

// composeSlow is NFC by its definition (UAX 15): decompose, order the marks of each run by class, compose. It is used only for text
// with absurdly long runs of marks, where the library's stream-safe form differs; cost n log n.
func composeSlow(text string) string {
	type unit struct {
		s   string
		ccc uint8
	}
	var units []unit
	add := func(s string) {
		units = append(units, unit{s, norm.NFD.PropertiesString(s).CCC()})
	}
	for i := 0; i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		// One character is far below the library's limit, so its decomposition is plain.
		for d := norm.NFD.String(text[i : i+n]); len(d) > 0; {
			_, k := utf8.DecodeRuneInString(d)
			add(d[:k])
			d = d[k:]
		}
		i += n
	}
	for i := 0; i < len(units); {
		j := i + 1
		if units[i].ccc != 0 {
			for j < len(units) && units[j].ccc != 0 {
				j++
			}
			slices.SortStableFunc(units[i:j], func(a, b unit) int { return int(a.ccc) - int(b.ccc) })
		}
		i = j
	}
	out := units[:0]
	starter := -1
	for _, u := range units {
		// u composes with the last starter unless a mark of the same or a higher class, or another starter, stands between.
		if starter >= 0 {
			last := out[len(out)-1]
			free := len(out)-1 == starter || last.ccc != 0 && last.ccc < u.ccc
			if free {
				if c := norm.NFC.String(out[starter].s + u.s); utf8.RuneCountInString(c) == 1 {
					out[starter] = unit{c, 0}
					continue
				}
			}
		}
		if u.ccc == 0 {
			starter = len(out)
		}
		out = append(out, u)
	}
	var b []byte
	for _, u := range out {
		b = append(b, u.s...)
	}
	return string(b)
}
