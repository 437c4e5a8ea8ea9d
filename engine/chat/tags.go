package chat

import "strings"

// The tags that are tokens of their own in the family's vocabulary.
const (
	openThink  = "<think>"
	closeThink = "</think>"
	openCall   = "<tool_call>"
	closeCall  = "</tool_call>"
)

// Inside the parser a tag is one byte that UTF-8 never has, so that text which looks like a tag and a tag are two things.
const (
	markOpenThink byte = 0xF8 + iota
	markCloseThink
	markOpenCall
	markCloseCall
)

var tagOf = [...]string{openThink, closeThink, openCall, closeCall}

func isMark(b byte) bool { return b >= markOpenThink && b <= markCloseCall }

// spell is the text of a marker.
func spell(mark byte) string { return tagOf[mark-markOpenThink] }

// spellAll turns the markers in s back into text.
func spellAll(s string) string {
	if firstMark(s) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if isMark(s[i]) {
			b.WriteString(spell(s[i]))
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// firstMark is the place of the first marker in s, -1 if there is none.
func firstMark(s string) int {
	for i := range len(s) {
		if isMark(s[i]) {
			return i
		}
	}
	return -1
}

// markTags replaces the tags in text by markers, for callers who cannot tell added tokens from text. rest is an end that may be the
// beginning of a tag.
func markTags(text string) (marked, rest string) {
	var b strings.Builder
next:
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			b.WriteString(text)
			return b.String(), ""
		}
		b.WriteString(text[:i])
		text = text[i:]
		for k, tag := range tagOf {
			if strings.HasPrefix(text, tag) {
				b.WriteByte(markOpenThink + byte(k))
				text = text[len(tag):]
				continue next
			}
			if strings.HasPrefix(tag, text) {
				return b.String(), text
			}
		}
		b.WriteByte('<')
		text = text[1:]
	}
}
