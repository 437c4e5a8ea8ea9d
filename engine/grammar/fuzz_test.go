package grammar

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// FuzzCompile feeds any text as a schema: it is refused with a *SchemaError or compiled in little time, and then walks through it never get stuck, and what they end in is JSON that
// an independent validator accepts.
func FuzzCompile(f *testing.F) {
	for i, s := range walkSchemas {
		f.Add([]byte(s), uint64(i))
	}
	for _, s := range []string{
		`{"$ref":"#"}`, `{"anyOf":[{"$ref":"#/anyOf/1"},{"$ref":"#/anyOf/0"}]}`, `{"type":"object","anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"array","minItems":4294967295}`, `{"type":"string","maxLength":1e9999999999}`, `{"type":"integer","minimum":1e39,"maximum":1e40}`,
		`{"items":{"$ref":"#"},"minItems":1,"anyOf":[true,{"minItems":2}]}`, `{"properties":{"a":{"$ref":"#"}},"required":["a","b"]}`, `[`, `{"enum":[{"a":{"b":[]}}]}`,
		`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]},"b":{"items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`,
		`{"type":"number","exclusiveMinimum":-0.00001,"exclusiveMaximum":0.0000000000000000000000000000001}`,
	} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		start := time.Now()
		g, err := Compile(schema, Options{MaxDepth: 8})
		if d := time.Since(start); d > 10*time.Second {
			t.Fatalf("compiling took %v", d)
		}
		if err != nil {
			var se *SchemaError
			if !errors.As(err, &se) {
				t.Fatalf("error %v is no *SchemaError", err)
			}
			return
		}
		if _, err := ToolCalls([]Tool{{Name: "f", Parameters: schema}}, ToolOptions{}); err != nil {
			var se *SchemaError
			if !errors.As(err, &se) || se.Tool != "f" && se.Pointer != "" {
				t.Fatalf("error %v is no *SchemaError of the tool", err)
			}
		}
		v, err := judgement(string(schema))
		if err != nil || strings.Contains(string(schema), "$id") || strings.Contains(string(schema), "$schema") {
			v = nil // the two need not agree on what is a schema
		}
		b := bind(t, g)
		r := rand.New(rand.NewPCG(seed, 1))
		for range 2 {
			ids, ok := drunk{r, b, 12}.text(t, nil)
			if !ok {
				continue
			}
			text := spell(ids)
			if !json.Valid([]byte(text)) {
				t.Fatalf("%s: %q is not JSON", schema, text)
			}
			if v != nil {
				if err := validate(v, text); err != nil {
					t.Fatalf("%s: %q: %v", schema, text, err)
				}
			}
		}
	})
}
