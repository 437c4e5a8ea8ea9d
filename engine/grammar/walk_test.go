package grammar

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flashlane/flashlane/engine/tokenizer"
)

const nanoStop = 8185 // <|im_end|>

var nano = sync.OnceValue(func() *tokenizer.Tokenizer {
	data, err := os.ReadFile(filepath.Join("..", "..", "nano", "pack", "tokenizer.json"))
	if err != nil {
		panic(err)
	}
	tok, err := tokenizer.Load(data, nil)
	if err != nil {
		panic(err)
	}
	return tok
})

var nanoVocab = sync.OnceValue(func() *Vocab {
	v, err := NewVocab(nano(), 8192)
	if err != nil {
		panic(err)
	}
	return v
})

func bind(t testing.TB, g *Grammar) *Bound {
	t.Helper()
	b, err := nanoVocab().Bind(g, []int32{nanoStop})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func members(set []uint64) (ids []int32) {
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			ids = append(ids, int32(i*64+bits.TrailingZeros64(w)))
		}
	}
	return ids
}

// drunk draws tokens from masks. It is rude: now and then it prefers tokens full of brackets, quotes, escapes or broken characters.
type drunk struct {
	r      *rand.Rand
	b      *Bound
	budget int // tokens after which it tries to come to an end
}

// text walks to the end of a document; ok is false if it did not find one in time.
func (d drunk) text(t testing.TB, watch func(m *Matcher, mask []uint64)) (ids []int32, ok bool) {
	m := d.b.Start()
	mask := make([]uint64, d.b.v.Words())
	var plan []int32
	for n := 0; n < d.budget+400; n++ {
		m.Mask(mask)
		allowed := members(mask)
		if len(allowed) == 0 {
			t.Fatalf("no token is allowed after %q", spell(ids))
		}
		if watch != nil {
			watch(m, mask)
		}
		id := allowed[d.r.IntN(len(allowed))]
		if n >= d.budget {
			if len(plan) == 0 {
				plan = d.ending(m, mask, allowed, id)
			}
			id, plan = plan[0], plan[1:]
		} else if d.r.IntN(2) == 0 {
			for range 12 {
				if k := allowed[d.r.IntN(len(allowed))]; rude(k) > rude(id) {
					id = k
				}
			}
		}
		if id == nanoStop {
			if !m.Done() {
				t.Fatalf("stop allowed after %q", spell(ids))
			}
			return ids, true
		}
		if !m.Accept(id) {
			t.Fatalf("id %d (%q) is in the mask after %q, but not accepted", id, nano().Piece(id), spell(ids))
		}
		ids = append(ids, id)
	}
	return ids, false
}

func rude(id int32) int {
	p := nano().Piece(id)
	n := 0
	for _, b := range p {
		if strings.IndexByte("{}[]\",:\\<>/\n", b) >= 0 {
			n += 2
		}
	}
	if !utf8.Valid(p) {
		n += 3
	}
	return n
}

// ending picks tokens that lead towards an end where there are some.
func (d drunk) ending(m *Matcher, mask []uint64, allowed []int32, otherwise int32) []int32 {
	if m.Done() {
		return []int32{nanoStop}
	}
	for _, text := range []string{"\n</think>\n\n", "</think>\n\n", "\n</parameter>\n", "</parameter>\n", "</function>\n", "</tool_call>", "\"}", "\"]", "}", "]", "\"", "lit", "null", "0", ": {}"} {
		if ids, _ := nano().Encode(text); mask[ids[0]>>6]>>(ids[0]&63)&1 == 1 && d.r.IntN(8) > 0 {
			c := m.Clone()
			fine := true
			for _, id := range ids {
				fine = fine && c.Accept(id)
			}
			if fine {
				return ids
			}
		}
	}
	for range 4 {
		if k := allowed[d.r.IntN(len(allowed))]; len(nano().Piece(k)) < len(nano().Piece(otherwise)) {
			otherwise = k
		}
	}
	return []int32{otherwise}
}

func spell(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.Write(nano().Piece(id))
	}
	return b.String()
}

// judge is an independent validator.
func judge(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	s, err := judgement(schema)
	if err != nil {
		t.Fatalf("%s: the validator refuses the schema: %v", schema, err)
	}
	return s
}

func judgement(schema string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

func validate(s *jsonschema.Schema, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

var walkSchemas = []string{
	`true`,
	`{"type":"string","minLength":3,"maxLength":9}`,
	`{"type":"integer","minimum":-37,"exclusiveMaximum":1205}`,
	`{"type":"number","exclusiveMinimum":-0.125,"maximum":33.3}`,
	`{"type":["integer","string","null","boolean"],"minLength":2,"minimum":10}`,
	`{"enum":["red","re","green","\u00e9\n",1,12,-3.5,null,true,{"a":[1,{"b":"c"}]},[]]}`,
	`{"type":"array","items":{"enum":[1,12,123,-1,"a",[]]}}`,
	`{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"minItems":2,"maxItems":3},"minItems":1,"maxItems":4}`,
	`{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"enum":["a","b"]}},"extra":{}},"required":["name","tags"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"ab":{"type":"string"},"\"":{"type":"null"}},"required":["ab"],"additionalProperties":{"type":"boolean"}}`,
	`{"type":"object","additionalProperties":{"type":"array","items":{"$ref":"#"}}}`,
	`{"$defs":{"e":{"anyOf":[{"type":"object","properties":{"op":{"const":"lit"},"v":{"type":"number"}},"required":["op","v"],"additionalProperties":false},{"type":"object","properties":{"op":{"enum":["add","literal"]},"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}},"required":["op","l","r"],"additionalProperties":false}]}},"$ref":"#/$defs/e"}`,
	`{"anyOf":[{"type":"array","items":{"type":"integer"},"maxItems":2},{"type":"array","items":{"type":"string"},"minItems":1},{"type":"array","items":{"$ref":"#"},"minItems":3}]}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
	`{"oneOf":[{"type":"string","maxLength":2},{"type":"object","required":["k"],"properties":{"k":{"const":1}},"additionalProperties":false},{"type":"object","required":["k"],"properties":{"k":{"const":2},"z":{"type":"null"}}}]}`,
}

func TestWalksEndInValidDocuments(t *testing.T) {
	for si, schema := range walkSchemas {
		r := rand.New(rand.NewPCG(uint64(si), 5))
		g, err := Compile([]byte(schema), Options{MaxDepth: 3 + si%4})
		if err != nil {
			t.Fatal(err)
		}
		b := bind(t, g)
		s := judge(t, schema)
		ended := 0
		for range 40 {
			ids, ok := drunk{r, b, r.IntN(60)}.text(t, nil)
			if !ok {
				continue
			}
			ended++
			text := spell(ids)
			if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
				t.Fatalf("%s: not JSON: %q", schema, text)
			}
			if err := validate(s, text); err != nil {
				t.Fatalf("%s: %q: %v", schema, text, err)
			}
			canonical(t, b.g, text)
		}
		if ended < 20 {
			t.Errorf("%s: only %d of 40 walks ended", schema, ended)
		}
	}
}

// canonical checks that the compact and the indented form of an accepted text are accepted.
func canonical(t testing.TB, g *Grammar, text string) {
	t.Helper()
	for _, form := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return json.Compact(b, []byte(text)) },
		func(b *bytes.Buffer) error { return json.Indent(b, []byte(text), "", "  ") },
	} {
		var b bytes.Buffer
		if err := form(&b); err != nil {
			t.Fatal(err)
		}
		if out := b.String(); !fits(g, out) && !strings.Contains(out, strings.Repeat(" ", maxSpaces+1)) {
			t.Fatalf("%q is accepted, but not %q", text, out)
		}
	}
}

// A mask must say of every token just what Accept says of it.
func TestMasksAreExact(t *testing.T) {
	tools, err := ToolCalls([]Tool{
		{Name: "f", Parameters: []byte(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"},"s":{"type":"string","minLength":2,"maxLength":6},"e":{"enum":["x","xy"]},
			"m":{"type":["integer","string"],"maximum":50,"maxLength":5},"o":{"type":["object","string"],"minLength":1}},"required":["q"]}`)},
		{Name: "fn"},
	}, ToolOptions{Text: true})
	if err != nil {
		t.Fatal(err)
	}
	bounds := []*Bound{bind(t, tools), bind(t, tools.Thinking()), bind(t, mustCompile(t, walkSchemas[7]).Thinking())}
	for _, schema := range walkSchemas {
		bounds = append(bounds, bind(t, mustCompile(t, schema)))
	}
	for i, b := range bounds {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		left := 60
		for left > 0 {
			drunk{r, b, 10 + r.IntN(60)}.text(t, func(m *Matcher, mask []uint64) {
				if left <= 0 || r.IntN(3) > 0 {
					return
				}
				left--
				c := m.Clone()
				for id := range int32(8192) {
					c.Set(m)
					got, want := mask[id>>6]>>(id&63)&1 == 1, c.Accept(id)
					if got != want {
						t.Fatalf("grammar %d: id %d (%q) in the mask: %v, accepted: %v (places %+v)", i, id, nano().Piece(id), got, want, m.tops)
					}
				}
			})
		}
	}
}
