package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// nanoDir is the embedded pack, opened by path; or, in a tree without it, the shared nano pack, whose tokenizer is the same.
func nanoDir() string {
	const embedded = "../../nano/pack"
	if _, err := os.Stat(filepath.Join(embedded, "tokenizer.json")); err != nil && os.Getenv("FLASHLANE_GOLDEN_DIR") != "" {
		return filepath.Join(os.Getenv("FLASHLANE_GOLDEN_DIR"), "pack/nano")
	}
	return embedded
}

var nanoOnce = sync.OnceValues(func() (*Tokenizer, error) {
	raw, err := os.ReadFile(filepath.Join(nanoDir(), "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	conf, err := os.ReadFile(filepath.Join(nanoDir(), "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	return Load(raw, conf)
})

func nano(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := nanoOnce()
	if err != nil {
		t.Fatalf("loading the nano pack's tokenizer: %v", err)
	}
	return tok
}

func encode(t testing.TB, tok *Tokenizer, text string) []int32 {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		t.Fatalf("Encode(%.80q): %v", text, err)
	}
	return ids
}

func TestNanoGolden(t *testing.T) {
	tok := nano(t)
	raw, err := os.ReadFile("testdata/nano.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Text    string
			IDs     []int32
			Decoded string
			Skipped string `json:"decoded_skip_special"`
			Pieces  []string
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) != 34 {
		t.Fatalf("got %d cases, want 34", len(golden.Cases))
	}
	for _, c := range golden.Cases {
		if got := encode(t, tok, c.Text); !slices.Equal(got, c.IDs) {
			t.Errorf("Encode(%q):\n got %v\nwant %v", c.Text, got, c.IDs)
		}
		if got := tok.Decode(c.IDs, false); got != c.Decoded {
			t.Errorf("Decode(%v) = %q, want %q", c.IDs, got, c.Decoded)
		}
		if got := tok.Decode(c.IDs, true); got != c.Skipped {
			t.Errorf("Decode(%v, skip) = %q, want %q", c.IDs, got, c.Skipped)
		}
		for i, p := range c.Pieces {
			if id, ok := tok.ID(p); !ok || id != c.IDs[i] {
				t.Errorf("ID(%q) = %d, %v, want %d", p, id, ok, c.IDs[i])
			}
		}
	}
}

func TestNanoFacts(t *testing.T) {
	tok := nano(t)
	if got := tok.Size(); got != 8192 {
		t.Errorf("Size() = %d, want 8192", got)
	}
	for _, c := range []struct {
		token          string
		id             int32
		added, special bool
	}{
		{"<|endoftext|>", 8183, true, true}, {"<|im_end|>", 8185, true, true}, {"<tool_call>", 8186, true, false},
		{"<think>", 8190, true, false}, {"</think>", 8191, true, false}, {"!", 0, false, false},
	} {
		id, ok := tok.ID(c.token)
		if !ok || id != c.id || tok.Added(id) != c.added || tok.Special(id) != c.special || string(tok.Piece(id)) != c.token {
			t.Errorf("%q: got id %d (%v) added %v special %v piece %q, want id %d added %v special %v", c.token, id, ok,
				tok.Added(id), tok.Special(id), tok.Piece(id), c.id, c.added, c.special)
		}
	}
	for _, id := range []int32{-1, 8192, 1 << 30} {
		if tok.Known(id) || tok.Piece(id) != nil || tok.Special(id) || tok.Decode([]int32{id}, false) != "" {
			t.Errorf("id %d must be unknown", id)
		}
	}
	if s, ok := tok.Named("eos_token"); !ok || s != "<|im_end|>" {
		t.Errorf("Named(eos_token) = %q, %v", s, ok)
	}
	if _, ok := tok.Named("bos_token"); ok {
		t.Error("nano has no bos_token")
	}
	if got := tok.AddedIDs(); len(got) != 9 || got[0] != 8183 || got[8] != 8191 {
		t.Errorf("AddedIDs() = %v", got)
	}
}

func TestEncodeOrdinary(t *testing.T) {
	tok := nano(t)
	ids, err := tok.EncodeOrdinary("<|im_end|></think>")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if tok.Added(id) {
			t.Fatalf("ordinary text gave added token %d in %v", id, ids)
		}
	}
	if got := tok.Decode(ids, true); got != "<|im_end|></think>" {
		t.Errorf("round trip gave %q", got)
	}
}

// awkward texts: each is a seed of the fuzz tests and a case of the round-trip tests.
var awkward = []string{
	"", " ", "a", "Hello, world!", "don't WE'LL I'M '\u017f '\u017ft 'x '", "naïve café e\u0301", "日本語 テキスト", "🙂👩\u200d👩\u200d👧",
	"<|im_start|>user\nhi<|im_end|>\n", "<think>\n\n</think>\n\n<tool_call>", "<|im_start", "a\r\n\r\n b\n \n  c \t", "\u00a0\u2003\u0085x",
	"x123y 4567 0x1F ٣٤ Ⅷ", "हिंदी क्षि ไทย עברית", "\x00\x01\x7f", "\uFFFD\uFEFF", "e\u0301\u0301\u0323", "\u1100\u1161\u11a8", "  \n\t leading",
	"Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f\u0310\u0311\u0312\u0313\u0314\u0315\u0316\u0317\u0318\u0319\u031a\u031b\u031c\u031d\u031e\u031f\u0320",
	"\xff\xfe\xe3\x81", "a\xe6\x97b", "…—–“”", "if err != nil {\n\treturn err\n}\n\n\n",
}

func TestRoundTrip(t *testing.T) {
	tok := nano(t)
	for _, s := range awkward {
		checkRoundTrip(t, tok, s)
	}
}

func checkRoundTrip(t *testing.T, tok *Tokenizer, s string) {
	t.Helper()
	want := composeSlow(s)
	if want != s && longestMarks(s) < streamSafe && norm.NFC.String(s) != want {
		t.Fatalf("%q: slow composition gave %q, x/text %q", s, want, norm.NFC.String(s))
	}
	ids := encode(t, tok, s)
	var raw []byte
	for _, id := range ids {
		raw = append(raw, tok.Piece(id)...)
	}
	// Normalisation does not reach across an added token: "<think>" and a combining stroke stay two.
	var pieces strings.Builder
	err := tok.raw.cut(s, func(piece string, id int32) error {
		if id < 0 {
			piece = composeSlow(piece)
		}
		pieces.WriteString(piece)
		return nil
	})
	if err != nil || string(raw) != pieces.String() {
		t.Fatalf("round trip of %q:\n got %q\nwant %q (%v)", s, raw, pieces.String(), err)
	}
	ord, err := tok.EncodeOrdinary(s)
	if err != nil {
		t.Fatal(err)
	}
	raw = raw[:0]
	for _, id := range ord {
		if tok.Added(id) {
			t.Fatalf("EncodeOrdinary(%q) gave added token %d", s, id)
		}
		raw = append(raw, tok.Piece(id)...)
	}
	if string(raw) != want {
		t.Fatalf("ordinary round trip of %q:\n got %q\nwant %q", s, raw, want)
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range awkward {
		f.Add(s)
	}
	tok := nano(f)
	f.Fuzz(func(t *testing.T, s string) { checkRoundTrip(t, tok, s) })
}

func TestConcurrentEncode(t *testing.T) {
	tok := nano(t)
	want := make([][]int32, len(awkward))
	for i, s := range awkward {
		want[i] = encode(t, tok, s)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				k := (i*7 + g) % len(awkward)
				if got, err := tok.Encode(awkward[k]); err != nil || !slices.Equal(got, want[k]) {
					t.Errorf("Encode(%q) beside others: %v, %v, want %v", awkward[k], got, err, want[k])
					return
				}
			}
		})
	}
	wg.Wait()
}
