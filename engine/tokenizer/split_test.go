package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

func words(t testing.TB, s splitter, text string) []string {
	t.Helper()
	var out []string
	if err := s.split(text, func(w string) { out = append(out, w) }); err != nil {
		t.Fatalf("split(%.80q): %v", text, err)
	}
	return out
}

// TestScannerWords pins words by hand, from the pattern's alternatives in order.
func TestScannerWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // joined by |, Qwen3.5 pattern
	}{
		{"Hello, world!", []string{"Hello", ",", " world", "!"}},
		{"I'm we'LL '\u017fx 'lx 'tis", []string{"I", "'m", " we", "'LL", " '", "\u017fx", " '", "lx", " '", "tis"}},
		{"'s'\u017f'x", []string{"'s", "'\u017f", "'x"}},
		{"a  b   ", []string{"a", " ", " b", "   "}},
		{"x \n\n  y", []string{"x", " \n\n", " ", " y"}},
		{"12 3", []string{"1", "2", " ", "3"}},
		{"!!\r\n\r\nx", []string{"!!\r\n\r\n", "x"}},
		{"\tfoo\t(bar", []string{"\tfoo", "\t", "(bar"}},
		{" \u0301a", []string{" \u0301a"}},
		{"\u0301\u0301!", []string{"\u0301\u0301", "!"}},
		{"हिंदी", []string{"हिंदी"}},
		{"\u00a0\u00a0x", []string{"\u00a0", "\u00a0x"}},
		{"\n", []string{"\n"}},
		{"a'", []string{"a", "'"}},
	} {
		if got := words(t, scanner{marks: true}, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	if got, want := words(t, scanner{}, "हि x"), []string{"ह", "ि", " x"}; !slices.Equal(got, want) {
		t.Errorf("Qwen2 pattern: got %q, want %q", got, want)
	}
}

// checkScanner compares the scanner with a general engine running the very pattern.
func checkScanner(t *testing.T, text string) {
	t.Helper()
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, c := range []struct {
		pattern string
		s       scanner
	}{{patternQwen2, scanner{}}, {patternQwen35, scanner{marks: true}}} {
		re, err := newRegex(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, want := words(t, c.s, text), words(t, re, text)
		if !slices.Equal(got, want) {
			t.Fatalf("marks %v, %q:\n got %q\nwant %q", c.s.marks, text, got, want)
		}
		if strings.Join(got, "") != text {
			t.Fatalf("words of %q do not join to it: %q", text, got)
		}
	}
}

func TestScannerEqualsPattern(t *testing.T) {
	for _, s := range awkward {
		if strings.Contains(s, "\u017f") {
			continue // the engine's case folding has no long s; the reference's has
		}
		checkScanner(t, s)
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range awkward {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\u017f") {
			return
		}
		checkScanner(t, s)
	})
}

func TestPatternsAreRecognised(t *testing.T) {
	for pattern, want := range map[string]splitter{patternQwen2: scanner{}, patternQwen35: scanner{marks: true}} {
		if got, err := newSplitter(pattern); err != nil || got != want {
			t.Errorf("newSplitter(%q) = %#v, %v", pattern, got, err)
		}
	}
	// Llama 3's groups of three digits: known to nobody here, so it runs on the general engine.
	s, err := newSplitter(`\p{N}{1,3}|\p{L}+`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := words(t, s, "ab12345 \xffc"), []string{"ab", "123", "45", " \uFFFD", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := newSplitter(`(`); err == nil {
		t.Error("a broken pattern must be refused")
	}
}

func TestPrefixSpaceAndGPT2(t *testing.T) {
	s, err := readPreTokenizer([]byte(`{"type":"ByteLevel","add_prefix_space":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := words(t, s, "it's  so 12"), []string{" it", "'s", " ", " so", " 12"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := words(t, s, ""); len(got) != 0 {
		t.Errorf("empty text gave %q", got)
	}
}
