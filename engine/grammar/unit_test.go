package grammar

import (
	"errors"
	"strings"
	"testing"
)

// fits reports whether text is a whole document of g.
func fits(g *Grammar, text string) bool {
	m := g.Start()
	return m.AcceptBytes([]byte(text)) && m.Done()
}

func mustCompile(t testing.TB, schema string) *Grammar {
	t.Helper()
	g, err := Compile([]byte(schema), Options{})
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{`{"type":"integer"}`, []string{"0", "-1", "12", "9223372036854775807", "-9223372036854775808"},
			[]string{"-0", "01", "1.0", "1e3", "9223372036854775808", "", " 1", "1 ", "+1"}},
		{`{"type":"integer","minimum":-5,"exclusiveMaximum":12}`, []string{"-5", "-1", "0", "9", "10", "11"}, []string{"-6", "12", "100", "-10", "-0"}},
		{`{"type":"integer","minimum":95,"maximum":1004}`, []string{"95", "99", "100", "999", "1000", "1004"}, []string{"94", "9", "1005", "1", "10", "2000"}},
		{`{"type":"integer","exclusiveMinimum":1.5,"maximum":2.5}`, []string{"2"}, []string{"1", "3"}},
		{`{"type":"integer","minimum":100000000000000000000}`, []string{"100000000000000000000", "300000000000000000000"}, []string{"99999999999999999999"}},
		{`{"type":"integer","minimum":2e39,"maximum":1e40}`, []string{"2" + strings.Repeat("0", 39)}, []string{"2" + strings.Repeat("0", 40)}},
		{`{"type":"number"}`, []string{"0", "-0.5", "1e9", "1.25E-7", "3.0", "0.1", "0e1"}, []string{"-0", "-0.0", ".5", "1.", "1e", "1e999", "--1", "-0e5"}},
		{`{"type":"number","minimum":0.5,"exclusiveMaximum":1.25}`, []string{"0.5", "0.50", "0.75", "1", "1.0", "1.24", "1.2499"}, []string{"0", "0.4", "0.49", "1.25", "1.3", "2", "1e0", "-1"}},
		{`{"type":"number","minimum":-2.5,"maximum":-1}`, []string{"-2.5", "-2.4999", "-1", "-1.0", "-2"}, []string{"-2.51", "-0.9", "1", "-3"}},
		{`{"type":"number","minimum":-1e400,"maximum":1e2}`, []string{"100", "100.0", "-5"}, []string{"100.1", "101"}},
		{`{"type":"string"}`, []string{`""`, `"a"`, `"é€😀"`, `"\n\"\\\/"`, `"\u00e9\ud83d\ude00"`, `"\uD83D\uDE00"`},
			[]string{`"`, "\"\n\"", `"\x"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\u0041"`, "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", `"a" `}},
		{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"é€😀"`, `"\ud83d\ude00a"`, `"\n\n\n"`}, []string{`"a"`, `"abcd"`, `""`, `"\ud83d\ude00"`}},
		{`{"type":"boolean"}`, []string{"true", "false"}, []string{"null", "t", "True"}},
		{`{"type":["string","null"]}`, []string{`"x"`, "null"}, []string{"1"}},
		{`{"enum":["a","ab",1,12,null,true,{"k":[1,"x"]}]}`, []string{`"a"`, `"ab"`, "1", "12", "null", "true", `{"k":[1,"x"]}`, `{"k": [1, "x"]}`},
			[]string{`"b"`, "2", "121", `{"k":[1]}`, `{"k":[1,"x",1]}`, `{}`}},
		{`{"enum":["a",1,2.0,2.5,99],"type":["integer"],"maximum":10}`, []string{"1", "2"}, []string{`"a"`, "2.5", "2.0", "99"}},
		{`{"const":"q\"\u0001\n"}`, []string{`"q\"\u0001\n"`}, []string{`"q"`}},
		{`{"const":[]}`, []string{`[]`}, []string{`[1]`, `{}`}},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{}},"required":["b"],"additionalProperties":false}`,
			[]string{`{"b":"x"}`, `{"a":1,"b":"x"}`, `{"a": 1, "b": "x", "c": [null, {"q": 1}]}`, "{\n  \"b\": \"\"\n}", `{ "b":"" }`},
			[]string{`{}`, `{"a":1}`, `{"b":"x","a":1}`, `{"b":"x","b":"y"}`, `{"b":"x",}`, `{"b":"x","d":1}`, `{"b" :"x"}`, `{"b":"x" ,"c":1}`, "{\n\n\"b\":\"\"}", `{"b":  "x"}`}},
		{`{"type":"object","properties":{"aa":{"type":"integer"}},"additionalProperties":{"type":"boolean"}}`,
			[]string{`{}`, `{"aa":1}`, `{"aa":1,"x":true}`, `{"a":true,"aab":false}`, `{"ab":true}`, `{"\"\n":true}`},
			[]string{`{"x":true,"aa":1}`, `{"aa":true}`, `{"aa":1,"aa":true}`, `{"\u0061a":true}`, `{"x":1}`}},
		{`{"type":"object","required":["z"]}`, []string{`{"z":1}`, `{"z":1,"y":2}`}, []string{`{}`, `{"y":2}`}},
		{`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}`, []string{"[1]", "[1,2]", "[1, 2]", "[\n  1,\n  2\n]"}, []string{"[]", "[1,2,3]", "[1,]", "[,1]"}},
		{`{"type":"array","maxItems":0}`, []string{"[]", "[ ]"}, []string{"[1]"}},
		{`{"type":"array","items":false}`, []string{"[]"}, []string{"[1]", "[null]"}},
		{`{"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"integer"}},"required":["k","v"]},{"type":"object","properties":{"k":{"const":"ab"},"v":{"type":"string"}},"required":["k","v"]},{"type":"null"}]}`,
			[]string{`{"k":"a","v":1}`, `{"k":"ab","v":"1"}`, "null"}, []string{`{"k":"a","v":"1"}`, `{"k":"ab","v":1}`}},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			[]string{`{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`}, []string{`{}`}},
		{`{"oneOf":[{"type":"integer"},{"type":"string"},{"type":"object","properties":{"t":{"enum":[1]}},"required":["t"]},{"type":"object","properties":{"t":{"enum":[2]}},"required":["t"]}]}`,
			[]string{"1", `"s"`, `{"t":1}`, `{"t":2}`}, []string{`{"t":3}`}},
		{`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}}`,
			[]string{`{"v":1,"next":null}`, `{"v":1,"next":{"v":2,"next":null}}`}, []string{`{"v":1}`, `{"v":1,"next":{}}`}},
		{`{"properties":{"a/b~%":{"type":"integer"},"c":{"$ref":"#/properties/a~1b~0%25"}},"required":["c"]}`, []string{`{"c":3}`}, []string{`{"c":"x"}`, `3`}},
		{`true`, []string{"1", `{"a":[{}]}`, `"x"`, "null"}, []string{"", "}"}},
		{`{"description":"anything","default":3,"title":"T"}`, []string{"1", `[]`}, nil},
	} {
		g := mustCompile(t, c.schema)
		for _, text := range c.yes {
			if !fits(g, text) {
				t.Errorf("%s: %s is refused, want accepted", c.schema, text)
			}
		}
		for _, text := range c.no {
			if fits(g, text) {
				t.Errorf("%s: %q is accepted, want refused", c.schema, text)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	big := `{"type":"array","items":` + strings.Repeat(`{"type":"array","items":`, 200) + "{}" + strings.Repeat("}", 201)
	for _, c := range []struct {
		schema  string
		kind    error
		keyword string
		pointer string
	}{
		{`{"type":"string","pattern":"a"}`, ErrUnsupported, "pattern", ""},
		{`{"type":"object","properties":{"a/b":{"type":"string","format":"date"}}}`, ErrUnsupported, "format", "/properties/a~1b"},
		{`{"type":"array","prefixItems":[{}]}`, ErrUnsupported, "prefixItems", ""},
		{`{"type":"number","multipleOf":2}`, ErrUnsupported, "multipleOf", ""},
		{`{"allOf":[{}]}`, ErrUnsupported, "allOf", ""},
		{`{"not":{}}`, ErrUnsupported, "not", ""},
		{`{"type":"array","uniqueItems":true}`, ErrUnsupported, "uniqueItems", ""},
		{`{"patternProperties":{}}`, ErrUnsupported, "patternProperties", ""},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, ErrUnsupported, "oneOf", ""},
		{`{"oneOf":[{"type":"object","properties":{"t":{"const":1}}},{"type":"object","properties":{"t":{"const":2}}}]}`, ErrUnsupported, "oneOf", ""},
		{`{"$ref":"http://x/y"}`, ErrUnsupported, "$ref", ""},
		{`{"$ref":"#/$defs/x"}`, ErrSchema, "$ref", ""},
		{`{"$ref":"#"}`, ErrUnsatisfiable, "$ref", ""},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`, ErrUnsatisfiable, "$ref", "*"},
		{`{"type":"object","anyOf":[{"$ref":"#"}]}`, ErrLimit, "*", "*"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, ErrUnsatisfiable, "", ""},
		{`{"type":"array","items":{"$ref":"#"},"minItems":1}`, ErrUnsatisfiable, "", ""},
		{`false`, ErrUnsatisfiable, "", ""},
		{`{"type":"string","minLength":3,"maxLength":2}`, ErrUnsatisfiable, "", ""},
		{`{"type":"integer","minimum":3,"maximum":2}`, ErrUnsatisfiable, "", ""},
		{`{"type":"integer","minimum":2.1,"maximum":2.9}`, ErrUnsatisfiable, "", ""},
		{`{"type":"number","exclusiveMinimum":2,"maximum":2}`, ErrUnsatisfiable, "", ""},
		{`{"type":"string","enum":[1]}`, ErrUnsatisfiable, "", ""},
		{`{"enum":[]}`, ErrUnsatisfiable, "", ""},
		{`{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`, ErrUnsatisfiable, "required", ""},
		{`{"type":"integer","minimum":1e50}`, ErrLimit, "minimum", ""},
		{`{"type":"number","maximum":1e-99999999999}`, ErrLimit, "maximum", ""},
		{`{"const":1e9999999}`, ErrLimit, "enum", ""},
		{`{"type":"text"}`, ErrSchema, "type", ""},
		{`{"type":[]}`, ErrSchema, "type", ""},
		{`{"type":"string","minLength":-1}`, ErrSchema, "minLength", ""},
		{`{"type":"string","maxLength":"3"}`, ErrSchema, "maxLength", ""},
		{`{"type":"object","properties":[]}`, ErrSchema, "properties", ""},
		{`{"type":"object","required":"a"}`, ErrSchema, "required", ""},
		{`{"anyOf":[]}`, ErrSchema, "anyOf", ""},
		{`{"enum":3}`, ErrSchema, "enum", ""},
		{`[]`, ErrSchema, "", ""},
		{`{"a":1,"a":2}`, ErrSchema, "a", ""},
		{`{"type":"string"`, ErrSchema, "", ""},
		{`{} {}`, ErrSchema, "", ""},
		{``, ErrSchema, "", ""},
		{big, ErrLimit, "", "*"},
		{`{"type":"string","const":"a","anyOf":[{"type":"string"}]}`, ErrUnsupported, "anyOf", ""},
	} {
		_, err := Compile([]byte(c.schema), Options{})
		var se *SchemaError
		if !errors.As(err, &se) || !errors.Is(err, c.kind) {
			t.Errorf("%.80s: error %v, want %v", c.schema, err, c.kind)
			continue
		}
		if c.keyword != "*" && se.Keyword != c.keyword || c.pointer != "*" && se.Pointer != c.pointer {
			t.Errorf("%.80s: keyword %q at %q, want %q at %q", c.schema, se.Keyword, se.Pointer, c.keyword, c.pointer)
		}
	}
	if _, err := Compile([]byte(`{"type":"string","pattern":"a"}`), Options{Loose: true}); err != nil {
		t.Errorf("loose: %v", err)
	}
	for _, d := range []int{-1, LimitMaxDepth + 1} {
		if _, err := JSONObject(Options{MaxDepth: d}); !errors.Is(err, ErrLimit) {
			t.Errorf("MaxDepth %d: %v, want ErrLimit", d, err)
		}
	}
}

func TestDepthIsBoundedWithoutDeadEnds(t *testing.T) {
	g, err := JSONObject(Options{MaxDepth: 3})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"a":{"b":[]}}`: true, `{"a":{"b":[1]}}`: true, `{"a":{"b":[[]]}}`: false, `{"a":{"b":{"c":1}}}`: true, `{"a":{"b":{"c":{}}}}`: false, `[]`: false,
	} {
		if got := fits(g, text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	// At depth 2 the required child no longer fits, so next can only be null, and "next" is the only way.
	chain := `{"type":"object","properties":{"next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/pair"}]}},"required":["next"],
		"$defs":{"pair":{"type":"array","items":{"$ref":"#"},"minItems":2,"maxItems":2}}}`
	g, err = Compile([]byte(chain), Options{MaxDepth: 4})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"next":null}`:                          true,
		`{"next":[{"next":null},{"next":null}]}`: true,
		`{"next":[{"next":[`:                     false,
	} {
		m := g.Start()
		if got := m.AcceptBytes([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// A hostile schema must not cost exponential time: here every '[' has two readings, and so has everything inside.
func TestAmbiguityIsPolynomial(t *testing.T) {
	g := mustCompile(t, `{"anyOf":[{"type":"array","items":{"$ref":"#"},"maxItems":1},{"type":"array","items":{"$ref":"#"},"maxItems":2},{"type":"array","items":{"$ref":"#"},"maxItems":3}]}`)
	m := g.Start()
	deep := strings.Repeat("[", 60)
	if !m.AcceptBytes([]byte(deep)) {
		t.Fatal("refused")
	}
	if len(m.tops) > 3 {
		t.Errorf("%d places, want at most 3", len(m.tops))
	}
	if !m.AcceptBytes([]byte("[],[]"+strings.Repeat("]", 60))) || !m.Done() {
		t.Error("document refused")
	}
	if fits(g, "[[],[],[],[]]") {
		t.Error("four items accepted, want at most three")
	}
}
