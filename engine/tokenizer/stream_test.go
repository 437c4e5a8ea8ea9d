package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func checkStream(t *testing.T, tok *Tokenizer, ids []int32) {
	t.Helper()
	want := tok.Decode(ids, true)
	s := tok.NewStream()
	var got strings.Builder
	for _, id := range ids {
		text := s.Push(id)
		if !utf8.ValidString(text) {
			t.Fatalf("Push(%d) gave broken UTF-8 %q for %v", id, text, ids)
		}
		got.WriteString(text)
	}
	got.WriteString(s.Flush())
	if got.String() != want {
		t.Fatalf("stream of %v:\n got %q\nwant %q", ids, got.String(), want)
	}
	raw := tok.NewRawStream()
	got.Reset()
	for _, id := range ids {
		got.WriteString(raw.Push(id))
	}
	got.WriteString(raw.Flush())
	if want := tok.Decode(ids, false); got.String() != want {
		t.Fatalf("raw stream of %v:\n got %q\nwant %q", ids, got.String(), want)
	}
	got.Reset()
	for _, id := range ids {
		before, text, added := s.Step(id)
		if added && (text != string(tok.Piece(id)) || !tok.Added(id) || tok.Special(id)) {
			t.Fatalf("Step(%d) = %q, %q, added", id, before, text)
		}
		if !added && before != "" {
			t.Fatalf("Step(%d) gave before %q for an ordinary token", id, before)
		}
		got.WriteString(before)
		got.WriteString(text)
	}
	got.WriteString(s.Flush())
	if got.String() != want {
		t.Fatalf("steps of %v:\n got %q\nwant %q", ids, got.String(), want)
	}
}

func TestStreamEqualsDecode(t *testing.T) {
	tok := nano(t)
	for _, s := range awkward {
		checkStream(t, tok, encode(t, tok, s))
	}
	think, _ := tok.ID("</think>")
	end, _ := tok.ID("<|im_end|>")
	b := tok.bpe.bytes
	for _, ids := range [][]int32{
		{b[0xe6], b[0x97], b[0xa5]},                        // one character from three tokens
		{b[0xe6], b[0x97]},                                 // cut off
		{b[0xe6], end, b[0x97], b[0xa5]},                   // a special token is not there
		{b[0xe6], think, b[0x97]},                          // an added token is
		{b[0xf0], b[0x9f], b['a'], b[0x99], b[0x82]},       // broken off, then stray bytes
		{b[0xed], b[0xa0], b[0x80]},                        // a surrogate: three stray bytes
		{b[0xf5], b[0xff], b[0xc0], b[0x80]},               // never valid
		{b[0xf4], b[0x90], b[0x80], b[0x80]},               // past U+10FFFF
		{b[0xe0], b[0x80], b[0xe0], b[0xa0], b[0x80]},      // overlong, then right
		{-5, 1 << 30, b['x']},                              // ids without tokens
		{b[0xf0], b[0xf0], b[0x9f], b[0x99], b[0x82]},      // begun twice
		{end, b[0xc3]},                                     // nothing but a beginning
		{b[0xc3], think, b[0xa9], think, b[0xc3], b[0xa9]}, // beginnings around tags
	} {
		checkStream(t, tok, ids)
	}
}

// TestReplacement pins the count of U+FFFD, which Python, Rust and browsers agree on.
func TestReplacement(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"\xe6\x97", "\uFFFD"}, {"\xe6\x97a", "\uFFFDa"}, {"\xf0\x9f\x99", "\uFFFD"}, {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"\xff\xff", "\uFFFD\uFFFD"}, {"\xc0\x80", "\uFFFD\uFFFD"}, {"\xf0\x80\x80", "\uFFFD\uFFFD\uFFFD"}, {"\xe6\xe6\x97\xa5", "\uFFFD日"},
		{"\xf4\x90\x80", "\uFFFD\uFFFD\uFFFD"}, {"ok", "ok"}, {"", ""}, {"é\x80", "é\uFFFD"},
	} {
		tok := &Tokenizer{pieces: [][]byte{[]byte(c.raw)}}
		if got := tok.Decode([]int32{0}, false); got != c.want {
			t.Errorf("%q became %q, want %q", c.raw, got, c.want)
		}
	}
}

func FuzzStream(f *testing.F) {
	tok := nano(f)
	f.Add([]byte{0xe6, 0x97, 0xa5, 0, 0xff}, uint16(3))
	f.Add([]byte("plain"), uint16(0))
	f.Fuzz(func(t *testing.T, raw []byte, salt uint16) {
		added := tok.AddedIDs()
		ids := make([]int32, 0, len(raw))
		for i, b := range raw {
			switch (int(b) ^ int(salt)>>(i%8)) % 11 {
			case 0:
				ids = append(ids, added[int(b)%len(added)])
			case 1:
				ids = append(ids, (int32(b)*31+int32(salt))%8192)
			default:
				ids = append(ids, tok.bpe.bytes[b])
			}
		}
		checkStream(t, tok, ids)
	})
}
