package grammar

import "testing"

// places are texts up to a place where the model is to choose.
var places = []struct{ name, schema, text string }{
	{"value", `true`, ``},
	{"key", `{"type":"object","properties":{"name":{"type":"string"},"note":{"type":"string"}}}`, `{"n`},
	{"string", `{"type":"object","properties":{"name":{"type":"string"}}}`, `{"name": "Ada`},
	{"counted", `{"type":"string","maxLength":7}`, `"Ad`},
	{"number", `{"type":"array","items":{"type":"integer","minimum":3,"maximum":5000}}`, `[12`},
	{"enum", `{"enum":["red","green","blue"]}`, `"`},
	{"thought", ``, "I think"},
	{"raw", ``, "I think\n</think>\n\n<tool_call>\n<function=f>\n<parameter=q>\nselect\n"},
}

func placed(b testing.TB, v *Vocab, stop int32, schema, text string) (*Bound, *Matcher) {
	var g *Grammar
	var err error
	if schema == "" {
		if g, err = ToolCalls([]Tool{{Name: "f", Parameters: []byte(`{"type":"object","properties":{"q":{"type":"string"}}}`)}}, ToolOptions{}); err == nil {
			g = g.Thinking()
		}
	} else {
		g, err = Compile([]byte(schema), Options{})
	}
	if err != nil {
		b.Fatal(err)
	}
	bound, err := v.Bind(g, []int32{stop})
	if err != nil {
		b.Fatal(err)
	}
	m := bound.Start()
	for rest := text; rest != ""; {
		n, ok := 1, false
		for _, tag := range []string{"</think>", "<tool_call>", "</tool_call>"} {
			if len(rest) >= len(tag) && rest[:len(tag)] == tag {
				id, _ := v.tokens.ID(tag)
				n, ok = len(tag), m.Accept(id)
				break
			}
		}
		if n == 1 {
			ok = m.AcceptBytes([]byte(rest[:1]))
		}
		if !ok {
			b.Fatalf("%q refused at %q", text, rest)
		}
		rest = rest[n:]
	}
	return bound, m
}

// BenchmarkMask times a mask with all caches empty (cold: the first time in a place of its kind), with those of the frames below empty (fresh: the same kind of place
// elsewhere in the document) and with none empty (warm: the next token in the same string).
func BenchmarkMask(b *testing.B) {
	s, big := released()
	for _, c := range []struct {
		name string
		v    *Vocab
		stop int32
	}{{"8192", nanoVocab(), nanoStop}, {"248320", big, s.tags["<|im_end|>"]}} {
		for _, p := range places {
			bound, m := placed(b, c.v, c.stop, p.schema, p.text)
			dst := make([]uint64, c.v.Words())
			for _, mode := range []string{"cold", "fresh", "warm"} {
				b.Run("vocab="+c.name+"/place="+p.name+"/cache="+mode, func(b *testing.B) {
					m.Mask(dst)
					b.ReportAllocs()
					for b.Loop() {
						switch mode {
						case "cold":
							clear(bound.states)
							clear(bound.tails)
							bound.bytes = 0
						case "fresh":
							clear(bound.tails)
						}
						m.Mask(dst)
					}
				})
			}
		}
	}
}

func BenchmarkNewVocab(b *testing.B) {
	s, v := released()
	for b.Loop() {
		var err error
		if v, err = NewVocab(s, s.Size()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(v.all.bytes)), "nodes")
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile([]byte(walkSchemas[8]), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccept(b *testing.B) {
	_, m := placed(b, nanoVocab(), nanoStop, `{"type":"string"}`, `"`)
	ids, err := nano().Encode("the")
	if err != nil || len(ids) != 1 {
		b.Fatal(ids, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !m.Accept(ids[0]) {
			b.Fatal("refused")
		}
	}
}
