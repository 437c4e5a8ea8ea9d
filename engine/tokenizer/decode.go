package tokenizer

import "unicode/utf8"

// Decode gives the text of ids. With skipSpecial, tokens flagged special are left out. Ids without a token add nothing. Bytes
// that are not UTF-8 become U+FFFD, one for each longest beginning of a character that breaks off (the WHATWG rule).
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	raw := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		if skipSpecial && t.Special(id) {
			continue
		}
		raw = append(raw, t.Piece(id)...)
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	text, rest := replace(make([]byte, 0, len(raw)+8), raw)
	if len(rest) > 0 {
		text = append(text, "\uFFFD"...)
	}
	return string(text)
}

// replace appends raw to dst as valid UTF-8, U+FFFD standing for each longest broken beginning. A last character that may still be
// completed is not appended but given back.
func replace(dst, raw []byte) (text, rest []byte) {
	for len(raw) > 0 {
		if raw[0] < utf8.RuneSelf {
			n := 1
			for n < len(raw) && raw[n] < utf8.RuneSelf {
				n++
			}
			dst = append(dst, raw[:n]...)
			raw = raw[n:]
			continue
		}
		n, want := subpart(raw)
		switch {
		case n == want && n > 0:
			dst = append(dst, raw[:n]...)
		case n == len(raw) && n > 0:
			return dst, raw
		default:
			dst = append(dst, "\uFFFD"...)
		}
		raw = raw[max(n, 1):]
	}
	return dst, nil
}

// subpart is the length of the longest beginning of raw that begins a well-formed character, and that character's full length;
// 0, 0 if the first byte begins none. raw is not empty. Ranges as in table 3-7 of the Unicode standard.
func subpart(raw []byte) (n, want int) {
	lo, hi := byte(0x80), byte(0xBF)
	switch b := raw[0]; {
	case b >= 0xC2 && b <= 0xDF:
		want = 2
	case b >= 0xE0 && b <= 0xEF:
		want = 3
		if b == 0xE0 {
			lo = 0xA0
		} else if b == 0xED {
			hi = 0x9F
		}
	case b >= 0xF0 && b <= 0xF4:
		want = 4
		if b == 0xF0 {
			lo = 0x90
		} else if b == 0xF4 {
			hi = 0x8F
		}
	default:
		return 0, 0
	}
	for n = 1; n < want && n < len(raw) && raw[n] >= lo && raw[n] <= hi; n++ {
		lo, hi = 0x80, 0xBF
	}
	return n, want
}
