package tokenizer

// The split patterns that the scanner knows, as tokenizer.json writes them.
const (
	// patternQwen2 is that of Qwen2, 2.5 and 3: marks count as punctuation.
	patternQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	// patternQwen35 is that of Qwen3.5 and later: marks belong to words (spec section 6).
	patternQwen35 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// scanner splits by one of the two patterns above, by hand: the only look-ahead in them needs no back-tracking, so the cost is
// linear in the text whatever it holds. Every character belongs to exactly one word.
type scanner struct {
	marks bool // marks are part of words
}

func (s scanner) split(text string, emit func(string)) error {
	t := classes()
	for i := 0; i < len(text); {
		n := s.next(t, text[i:])
		emit(text[i : i+n])
		i += n
	}
	return nil
}

// word tells whether the class belongs to the letter run of the pattern.
func (s scanner) word(c class) bool { return c == letter || s.marks && c == mark }

// next is the length in bytes of the first word of text, which is not empty. The cases stand in the order of the pattern's
// alternatives.
func (s scanner) next(t *[1 << 16]class, text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	c, w := classAt(t, text, 0)
	// [^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+
	if s.word(c) {
		// A mark may be the optional first character or the run's own: both end at the same place.
		return s.run(t, text, w)
	}
	if c != newline && c != number && w < len(text) {
		if d, v := classAt(t, text, w); s.word(d) {
			return s.run(t, text, w+v)
		}
	}
	if c == number {
		return w
	}
	// " ?[^\s\p{L}\p{N}]+[\r\n]*"
	if s.punct(c) {
		return s.punctuation(t, text, w)
	}
	if text[0] == ' ' && len(text) > 1 {
		if d, v := classAt(t, text, 1); s.punct(d) {
			return s.punctuation(t, text, 1+v)
		}
	}
	return blank(t, text)
}

func (s scanner) punct(c class) bool { return c == other || !s.marks && c == mark }

// run extends a letter run that already reaches i.
func (s scanner) run(t *[1 << 16]class, text string, i int) int {
	for i < len(text) {
		c, w := classAt(t, text, i)
		if !s.word(c) {
			break
		}
		i += w
	}
	return i
}

// punctuation extends a run of punctuation that already reaches i, and takes the line ends behind it.
func (s scanner) punctuation(t *[1 << 16]class, text string, i int) int {
	for i < len(text) {
		c, w := classAt(t, text, i)
		if !s.punct(c) {
			break
		}
		i += w
	}
	for i < len(text) && (text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// blank handles \s*[\r\n]+ , \s+(?!\S) and \s+ at a white-space character: up to the last line end of the run if it has one; else
// the whole run at the end of the text; else all but its last character, which the next word may take.
func blank(t *[1 << 16]class, text string) int {
	end, last, lineEnd := 0, 0, 0
	for end < len(text) {
		c, w := classAt(t, text, end)
		if c != space && c != newline {
			break
		}
		last = end
		end += w
		if c == newline {
			lineEnd = end
		}
	}
	switch {
	case lineEnd > 0:
		return lineEnd
	case end == len(text) || last == 0:
		return end
	}
	return last
}

// contraction is the length of 's 't 're 've 'm 'll 'd at the start of text in any case, 0 if there is none. Unicode case folding
// makes U+017F, the long s, an s.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	const fold = 'a' - 'A'
	switch a := text[1]; a | fold {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		want := byte('e')
		if a|fold == 'l' {
			want = 'l'
		}
		if len(text) > 2 && text[2]|fold == want {
			return 3
		}
	default:
		if a == 0xC5 && len(text) > 2 && text[2] == 0xBF {
			return 3
		}
	}
	return 0
}
