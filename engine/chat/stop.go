package chat

// stopper finds the first stop string to be completed in a text that comes in pieces. It holds back the longest end that may still
// become one (Knuth, Morris and Pratt's automaton for each string), so what it gives out is final.
type stopper struct {
	words []stopWord
	held  []byte
}

type stopWord struct {
	text string
	fall []int // fall[k]: the state after a mismatch in state k
	at   int   // how many bytes of the word the text ends with
}

// newStopper ignores empty strings.
func newStopper(words []string) *stopper {
	s := &stopper{}
	for _, w := range words {
		if w == "" {
			continue
		}
		fall := make([]int, len(w)+1)
		for i := 1; i < len(w); i++ {
			k := fall[i]
			for k > 0 && w[k] != w[i] {
				k = fall[k]
			}
			if w[k] == w[i] {
				k++
			}
			fall[i+1] = k
		}
		s.words = append(s.words, stopWord{text: w, fall: fall})
	}
	return s
}

// feed gives the text that is certain. With a stop string found, it is all that came before it; the longest wins where several end
// at the same place.
func (s *stopper) feed(text string) (out, found string) {
	if len(s.words) == 0 {
		return text, ""
	}
	var b []byte
	for i := range len(text) {
		c := text[i]
		s.held = append(s.held, c)
		keep := 0
		for j := range s.words {
			w := &s.words[j]
			for w.at > 0 && (w.at == len(w.text) || w.text[w.at] != c) {
				w.at = w.fall[w.at]
			}
			if w.text[w.at] == c {
				w.at++
			}
			if w.at == len(w.text) && len(w.text) > len(found) {
				found = w.text
			}
			keep = max(keep, w.at)
		}
		if found != "" {
			b = append(b, s.held[:len(s.held)-len(found)]...)
			s.held = nil
			return string(b), found
		}
		n := len(s.held) - keep
		b = append(b, s.held[:n]...)
		s.held = append(s.held[:0], s.held[n:]...)
	}
	return string(b), ""
}

// release gives what is held back and begins anew: the text does not go on.
func (s *stopper) release() string {
	out := string(s.held)
	s.held = s.held[:0]
	for j := range s.words {
		s.words[j].at = 0
	}
	return out
}
