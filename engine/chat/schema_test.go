package chat

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestToolSchemas(t *testing.T) {
	got, err := ToolSchemas(json.RawMessage(`[
		{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{
			"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"o":{"type":"object"},"a":{"type":"array"},"z":{"type":"null"},
			"sn":{"type":["string","null"]},"any":{},"true":true,"of":{"anyOf":[{"type":"string"},{"type":"null"}]},"of2":{"oneOf":[{"type":"string"},{}]},
			"all":{"allOf":[{"$ref":"#/$defs/t"}]},"e":{"enum":["a","b"]},"e2":{"enum":["a",1,null]},"c":{"const":5},"r":{"$ref":"#/$defs/t"},"loop":{"$ref":"#/$defs/l"},"far":{"$ref":"http://x"},"p":{"properties":{}}},
			"$defs":{"t":{"type":"string"},"l":{"$ref":"#/$defs/l"}}}}},
		{"name":"bare","parameters":{"properties":{"x":{"type":"string"}}}},
		{"type":"function","function":{"name":"none"}}]`))
	if err != nil || len(got) != 3 {
		t.Fatalf("got %v, %v", got, err)
	}
	want := map[string]Types{"s": String, "i": Number, "n": Number, "b": Boolean, "o": Object, "a": Array, "z": Null, "sn": String | Null, "any": 0, "true": 0,
		"of": String | Null, "of2": 0, "all": String, "e": String, "e2": String | Number | Null, "c": Number, "r": String, "loop": 0, "far": 0, "p": Object}
	if got[0].Name != "f" || !maps.Equal(got[0].Params, want) {
		t.Errorf("got %v, want %v", got[0].Params, want)
	}
	if got[1].Name != "bare" || got[1].Params["x"] != String || got[2].Name != "none" {
		t.Errorf("got %+v", got[1:])
	}
	if got, err := ToolSchemas(nil); got != nil || err != nil {
		t.Errorf("no tools: %v, %v", got, err)
	}
	for _, bad := range []string{`{}`, `[{}]`, `[1]`, `[`} {
		if _, err := ToolSchemas(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: want an error", bad)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		types Types
		text  string
		want  string
	}{
		{String, "5", `"5"`}, {String, " a\n", `" a\n"`}, {String, `{"a":1}`, `"{\"a\":1}"`},
		{Number, " 5 ", `5`}, {Number, "1e3", `1e3`}, {Number, "five", `"five"`}, {Number, `"5"`, `"5"`}, {Number, "NaN", `"NaN"`},
		{Boolean, "true", `true`}, {Boolean, "False", `false`}, {Boolean, "yes", `"yes"`}, {Null, "None", `null`},
		{Object, `{"a": [1]}`, `{"a": [1]}`}, {Object, `{a}`, `"{a}"`}, {Array, "[1, 2]\n", `[1, 2]`},
		{0, "5", `5`}, {0, "x", `"x"`}, {0, `"x"`, `"\"x\""`}, {0, "null", `null`}, {0, "True", `"True"`}, {0, "", `""`},
		{String | Null, "null", `null`}, {String | Null, "5", `"5"`}, {String | Null, `"q"`, `"\"q\""`}, {String | Number, "5", `5`}, {String | Number, "true", `"true"`},
	} {
		got := c.types.value(c.text)
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%b: %q became %s, want %s", c.types, c.text, got, c.want)
		}
	}
}

// TestEscape: piece by piece, an escaped text must come to the same as in one go, and read back.
func TestEscape(t *testing.T) {
	s := "a\"\\\n\r\t\x00\x1f\x7fé🙂\u2028/<>&"
	var pieces string
	for _, r := range s {
		pieces += escape(string(r))
	}
	if pieces != escape(s) {
		t.Errorf("got %s, want %s", pieces, escape(s))
	}
	var back string
	if err := json.Unmarshal([]byte(quote(s)), &back); err != nil || back != s {
		t.Errorf("read back as %q, %v", back, err)
	}
}
