package tokenizer

import "unicode/utf8"

// alphabet is the byte-level alphabet: every byte has one printable character. Printable bytes of Latin-1 stand for themselves;
// the other 68 take the characters from U+0100 on, in byte order.
type alphabet struct {
	char [256]rune
	byte map[rune]byte
}

func newAlphabet() *alphabet {
	a := &alphabet{byte: make(map[rune]byte, 256)}
	next := rune(0x100)
	for b := range 256 {
		c := rune(b)
		printable := b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE
		if !printable {
			c = next
			next++
		}
		a.char[b] = c
		a.byte[c] = byte(b)
	}
	return a
}

// decode gives the bytes of a token written in the alphabet. A token with any character outside it stands for its own UTF-8.
func (a *alphabet) decode(token string) []byte {
	out := make([]byte, 0, len(token))
	for i, r := range token {
		b, ok := a.byte[r]
		if !ok || r == utf8.RuneError && token[i] != 0xEF {
			return []byte(token)
		}
		out = append(out, b)
	}
	return out
}
