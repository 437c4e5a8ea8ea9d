package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sampler is a random schema and a way to write documents that fit it, in canonical form, that knows nothing of this package.
type sampler struct {
	schema string
	write  func(r *rand.Rand) string
}

var alphabet = []string{"a", "b", "Z", " ", "é", "€", "😀", `\"`, `\\`, `\n`, `\u0001`, `\ud83d\ude00`, "</parameter>", "{", "]", ",", ":"}

func letters(r *rand.Rand, low, high int) string {
	var b strings.Builder
	for n := low + r.IntN(high-low+1); n > 0; {
		s := alphabet[r.IntN(len(alphabet))]
		if s == "</parameter>" {
			if n < 12 {
				continue
			}
			n -= 11
		}
		b.WriteString(s)
		n--
	}
	return b.String()
}

func randomSchema(r *rand.Rand, depth int) sampler {
	kinds := 9
	if depth == 0 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		low := r.IntN(4)
		high := low + r.IntN(20)
		return sampler{fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, low, high),
			func(r *rand.Rand) string { return `"` + letters(r, low, high) + `"` }}
	case 1:
		low := r.IntN(4000) - 2000
		high := low + r.IntN(3000)
		return sampler{fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, low, high),
			func(r *rand.Rand) string { return fmt.Sprint(low + r.IntN(high-low+1)) }}
	case 2:
		return randomNumber(r)
	case 3:
		return sampler{`{"type":"boolean"}`, func(r *rand.Rand) string { return []string{"true", "false"}[r.IntN(2)] }}
	case 4:
		words := []string{`"x"`, `"xy"`, `"y\n"`, "3", "31", "-0.5", "null", "true", `{"a":[1,null]}`, "[]"}
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		words = words[:1+r.IntN(5)]
		return sampler{`{"enum":[` + strings.Join(words, ",") + `]}`, func(r *rand.Rand) string { return words[r.IntN(len(words))] }}
	case 5:
		return sampler{`{"type":["null","string"],"title":"t"}`, func(r *rand.Rand) string {
			if r.IntN(2) == 0 {
				return "null"
			}
			return `"` + letters(r, 0, 30) + `"`
		}}
	case 6:
		item := randomSchema(r, depth-1)
		low := r.IntN(3)
		high := low + r.IntN(4)
		return sampler{fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, item.schema, low, high), func(r *rand.Rand) string {
			var items []string
			for range low + r.IntN(high-low+1) {
				items = append(items, item.write(r))
			}
			return "[" + strings.Join(items, ",") + "]"
		}}
	case 7:
		a, b, c := randomSchema(r, depth-1), randomSchema(r, depth-1), randomSchema(r, depth-1)
		return sampler{fmt.Sprintf(`{"anyOf":[%s,%s,%s]}`, a.schema, b.schema, c.schema), func(r *rand.Rand) string {
			return []sampler{a, b, c}[r.IntN(3)].write(r)
		}}
	}
	return randomObject(r, depth)
}

func randomObject(r *rand.Rand, depth int) sampler {
	names := []string{"a", "ab", "abc", "b", `q\"`, "é", "long name", ""}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:r.IntN(6)]
	var props, required []string
	var fields []sampler
	must := map[int]bool{}
	for i, n := range names {
		f := randomSchema(r, depth-1)
		fields = append(fields, f)
		props = append(props, `"`+n+`":`+f.schema)
		if must[i] = r.IntN(2) == 0; must[i] {
			required = append(required, `"`+n+`"`)
		}
	}
	more := sampler{schema: "false"}
	if r.IntN(2) == 0 {
		more = randomSchema(r, depth-1)
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":%s}`, strings.Join(props, ","), strings.Join(required, ","), more.schema)
	return sampler{schema, func(r *rand.Rand) string {
		var out []string
		for i, f := range fields {
			if must[i] || r.IntN(2) == 0 {
				out = append(out, `"`+names[i]+`":`+f.write(r))
			}
		}
		if more.write != nil {
			for i := range r.IntN(3) {
				out = append(out, fmt.Sprintf(`"abcd%d\n":%s`, i, more.write(r)))
			}
		}
		return "{" + strings.Join(out, ",") + "}"
	}}
}

func randomNumber(r *rand.Rand) sampler {
	low := r.IntN(4000) - 2000
	top := max(low, 0) + 1 + r.IntN(3000)
	return sampler{fmt.Sprintf(`{"type":"number","exclusiveMinimum":%d,"maximum":%d.5}`, low, top), func(r *rand.Rand) string {
		n := low + 1 + r.IntN(top-low)
		if n >= 0 && r.IntN(2) == 0 {
			return fmt.Sprintf("%d.%d", n, r.IntN(6))
		}
		return fmt.Sprint(n)
	}}
}

func TestRandomSchemas(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 77))
		s := randomSchema(r, 3)
		g := mustCompile(t, s.schema)
		v := judge(t, s.schema)
		for range 6 {
			text := s.write(r)
			if err := validate(v, text); err != nil {
				t.Fatalf("seed %d: the test's own document %s does not fit %s: %v", seed, text, s.schema, err)
			}
			m := g.Start()
			for i := range len(text) {
				if !m.AcceptBytes([]byte{text[i]}) {
					t.Fatalf("seed %d: %s: refused after %q of %q", seed, s.schema, text[:i], text)
				}
			}
			if !m.Done() {
				t.Fatalf("seed %d: %s: %q is not complete", seed, s.schema, text)
			}
			canonical(t, g, text)
		}
		b := bind(t, g)
		for range 4 {
			if ids, ok := (drunk{r, b, r.IntN(30)}).text(t, nil); ok {
				if err := validate(v, spell(ids)); err != nil {
					t.Fatalf("seed %d: %s: %q: %v", seed, s.schema, spell(ids), err)
				}
			}
		}
	}
}
