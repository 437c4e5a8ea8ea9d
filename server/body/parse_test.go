package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", 9) + strings.Repeat("]", 9)
	for name, c := range map[string]struct{ text, param, code, says string }{
		"empty":                {"", "", CodeInvalidJSON, "empty"},
		"white space":          {" \n\t", "", CodeInvalidJSON, "empty"},
		"not json":             {"hello", "", CodeInvalidJSON, "not valid JSON"},
		"cut":                  {`{"a": [1, 2`, "", CodeInvalidJSON, "unexpected end"},
		"trailing garbage":     {`{"a":1} x`, "", CodeInvalidJSON, "after top-level value"},
		"two values":           {`{}{}`, "", CodeInvalidJSON, "after top-level value"},
		"trailing comma":       {`{"a":1,}`, "", CodeInvalidJSON, "not valid JSON"},
		"NaN":                  {`{"temperature": NaN}`, "temperature", CodeInvalidJSON, "no NaN"},
		"Infinity":             {`{"a": 1, "top_p" : Infinity}`, "top_p", CodeInvalidJSON, "no NaN or Infinity"},
		"negative Infinity":    {`{"min_p": -Infinity}`, "min_p", CodeInvalidJSON, "no NaN or Infinity"},
		"comment":              {`{"a": /* 1 */ 2}`, "a", CodeInvalidJSON, "not valid JSON"},
		"single quotes":        {`{'a': 1}`, "", CodeInvalidJSON, "not valid JSON"},
		"leading zero":         {`{"a": 01}`, "a", CodeInvalidJSON, "not valid JSON"},
		"raw control in text":  {"{\"a\": \"x\ny\"}", "", CodeInvalidJSON, "not valid JSON"},
		"bad utf-8":            {"{\"a\": \"\xff\"}", "", CodeInvalidJSON, "offset 7"},
		"duplicate":            {`{"a":1,"b":2,"a":3}`, "a", CodeInvalidValue, "twice"},
		"duplicate by escape":  {`{"a":1,"\u0061":3}`, "a", CodeInvalidValue, "twice"},
		"duplicate deep":       {`{"m":[{"x":{"k":1,"k":1}}]}`, "m[0].x.k", CodeInvalidValue, "twice"},
		"too deep":             {deep, "[0][0][0][0][0][0][0][0]", CodeInvalidValue, "nested too deeply"},
		"lone high surrogate":  {`{"a":"x\ud83d"}`, "a", CodeInvalidValue, "surrogate"},
		"lone low surrogate":   {`{"a":"\ude00x"}`, "a", CodeInvalidValue, "surrogate"},
		"high twice":           {`{"a":"\ud83d\ud83d"}`, "a", CodeInvalidValue, "surrogate"},
		"high before other":    {`{"a":"\ud83d\u0041\ude00"}`, "a", CodeInvalidValue, "surrogate"},
		"surrogate in a name":  {`{"\ud800":1}`, "", CodeInvalidValue, "surrogate"},
		"byte order mark only": {"\ufeff", "", CodeInvalidJSON, "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), Limits{Depth: 8})
			var be *Error
			if !errors.As(err, &be) {
				t.Fatalf("Parse(%q): got error %v, want a *Error", c.text, err)
			}
			if be.Param != c.param || be.Code != c.code || !strings.Contains(be.Message, c.says) {
				t.Errorf("Parse(%q): got param %q code %q message %q, want param %q code %q and %q in the message", c.text, be.Param, be.Code, be.Message, c.param, c.code, c.says)
			}
		})
	}
}

func TestParseKeepsOrderRawAndText(t *testing.T) {
	v, err := Parse([]byte(` {"z" : 1.50, "a":[ true ,null,"\ud83d\ude00\n\\u0041" ], "":{}} `), Limits{Depth: 8})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Members[0].Name + v.Members[1].Name + v.Members[2].Name; got != "za" {
		t.Errorf("names in order: got %q, want %q", got, "za")
	}
	if got := v.Members[0].Value; got.Kind != Number || got.Text != "1.50" || string(got.Raw) != "1.50" {
		t.Errorf("number: got %+v", got)
	}
	list := v.Members[1].Value
	if string(list.Raw) != `[ true ,null,"\ud83d\ude00\n\\u0041" ]` || len(list.Items) != 3 {
		t.Fatalf("array: got raw %s with %d items", list.Raw, len(list.Items))
	}
	if got, want := list.Items[2].Text, "😀\n\\u0041"; got != want {
		t.Errorf("string: got %q, want %q", got, want)
	}
}

func TestParseLimitsValues(t *testing.T) {
	if _, err := Parse([]byte(`[1,2,3]`), Limits{Depth: 4, Values: 4}); err != nil {
		t.Errorf("4 values with limit 4: %v", err)
	}
	if _, err := Parse([]byte(`[1,2,3,4]`), Limits{Depth: 4, Values: 4}); err == nil {
		t.Error("5 values with limit 4: got no error")
	}
}

func TestReader(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		read        func(r *Reader)
		param, code string // empty: no error
	}{
		"all fine":            {`{"f":0.5,"i":3,"s":"x","b":true}`, readAll, "", ""},
		"null is absent":      {`{"f":null,"i":null,"s":null,"b":null}`, readAll, "", ""},
		"integral float":      {`{"i":3.0}`, readAll, "", ""},
		"exponent":            {`{"i":1e1}`, readAll, "", ""},
		"unknown":             {`{"i":1,"zzz":1}`, readAll, "zzz", CodeUnknown},
		"unknown null":        {`{"zzz":null}`, readAll, "zzz", CodeUnknown},
		"other case":          {`{"I":1}`, readAll, "I", CodeUnknown},
		"float as string":     {`{"f":"0.5"}`, readAll, "f", CodeInvalidType},
		"float out of range":  {`{"f":-0.1}`, readAll, "f", CodeInvalidValue},
		"float overflows":     {`{"f":1e999}`, readAll, "f", CodeInvalidValue},
		"int with fraction":   {`{"i":3.5}`, readAll, "i", CodeInvalidValue},
		"int negative":        {`{"i":-1}`, readAll, "i", CodeInvalidValue},
		"int overflows":       {`{"i":99999999999999999999}`, readAll, "i", CodeInvalidValue},
		"int as bool":         {`{"i":true}`, readAll, "i", CodeInvalidType},
		"string as number":    {`{"s":1}`, readAll, "s", CodeInvalidType},
		"bool as number":      {`{"b":1}`, readAll, "b", CodeInvalidType},
		"bool as string":      {`{"b":"true"}`, readAll, "b", CodeInvalidType},
		"first error wins":    {`{"s":1,"b":1,"zzz":1}`, readAll, "s", CodeInvalidType},
		"not an object":       {`{"o":[]}`, readInner, "o", CodeInvalidType},
		"inner unknown":       {`{"o":{"x":1}}`, readInner, "o.x", CodeUnknown},
		"inner object absent": {`{}`, readInner, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(c.text), Limits{Depth: 8})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Read(v, "")
			if err != nil {
				t.Fatal(err)
			}
			c.read(r)
			err = r.Close()
			var be *Error
			errors.As(err, &be)
			if be == nil {
				be = &Error{}
			}
			if be.Param != c.param || be.Code != c.code {
				t.Errorf("got %v (param %q, code %q), want param %q code %q", err, be.Param, be.Code, c.param, c.code)
			}
		})
	}
}

func readAll(r *Reader) {
	r.Str("s")
	r.Float("f", 0, 1)
	r.Int("i", 0, 10)
	r.Bool("b")
}

func readInner(r *Reader) {
	if o, given := r.Reader("o"); given {
		var be *Error
		if errors.As(o.Close(), &be) {
			r.Keep(be)
		}
	}
}

func TestReadWantsAnObject(t *testing.T) {
	for _, text := range []string{`[]`, `"x"`, `1`, `true`, `null`} {
		v, err := Parse([]byte(text), Limits{Depth: 8})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(v, ""); err == nil {
			t.Errorf("Read(%s): got no error", text)
		}
	}
}

// FuzzParse: whatever Parse takes, encoding/json takes with the same meaning, and Raw of the root is the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"\ud83d\ude00",null,true,{}],"b":""}`, `[]`, `"\\"`, ` 0 `, `{"a":1,"a":2}`, `[[[[`, `{"x":NaN}`, "\"\\ud800\"", `{"":{"":[[]]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data, Limits{Depth: 16, Values: 1000})
		if err != nil {
			var be *Error
			if !errors.As(err, &be) || be.Message == "" {
				t.Fatalf("error %v of type %T, want a *Error with a message", err, err)
			}
			return
		}
		if !bytes.Equal(v.Raw, bytes.TrimSpace(data)) {
			t.Fatalf("raw %q, want %q", v.Raw, bytes.TrimSpace(data))
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses what Parse took: %v", err)
		}
		same(t, v, want)
	})
}

// same compares a tree with what encoding/json made of the same text.
func same(t *testing.T, v *Value, want any) {
	t.Helper()
	switch w := want.(type) {
	case nil:
		if v.Kind != Null {
			t.Fatalf("got %s, want null", v.Kind)
		}
	case bool:
		if v.Kind != Bool || (v.Text == "true") != w {
			t.Fatalf("got %s %q, want %v", v.Kind, v.Text, w)
		}
	case json.Number:
		if v.Kind != Number || v.Text != string(w) {
			t.Fatalf("got %s %q, want number %s", v.Kind, v.Text, w)
		}
	case string:
		if v.Kind != String || v.Text != w {
			t.Fatalf("got %s %q, want string %q", v.Kind, v.Text, w)
		}
	case []any:
		if v.Kind != Array || len(v.Items) != len(w) {
			t.Fatalf("got %s of %d, want array of %d", v.Kind, len(v.Items), len(w))
		}
		for i := range w {
			same(t, v.Items[i], w[i])
		}
	case map[string]any:
		if v.Kind != Object || len(v.Members) != len(w) {
			t.Fatalf("got %s of %d, want object of %d", v.Kind, len(v.Members), len(w))
		}
		for _, m := range v.Members {
			same(t, m.Value, w[m.Name])
		}
	}
}
