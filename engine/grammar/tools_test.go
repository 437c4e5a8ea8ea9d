package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/chat"
)

const weather = `{"type":"object","properties":{
	"city":{"type":"string","maxLength":60},
	"code":{"type":"string","minLength":2,"maxLength":40},
	"unit":{"enum":["c","f","cf"]},
	"days":{"type":"integer","minimum":1,"maximum":14},
	"opts":{"type":"object","additionalProperties":{"type":"string"}},
	"size":{"type":["integer","string"],"minimum":3,"minLength":1},
	"note":{"type":["string","null"]},
	"mode":{"enum":["1",1,null,"null","none",true,[1]]},
	"pick":{"anyOf":[{"type":"string","minLength":3},{"type":["boolean","null"],"enum":[true]},{"type":"array","items":{"type":"integer"}}]},
	"any":{}},"required":["city","days"],"additionalProperties":false}`

// read takes an answer apart as the server does, with the tokens as they are.
func read(t testing.TB, tools string, ids []int32, think bool) (reasoning, content string, names []string, args []string, open bool) {
	t.Helper()
	schemas, err := chat.ToolSchemas(json.RawMessage(tools))
	if err != nil {
		t.Fatal(err)
	}
	p := chat.NewParser(chat.ParserOptions{InThink: think, Tools: schemas})
	take := func(list []chat.Delta) {
		for _, d := range list {
			switch d.Kind {
			case chat.Reasoning:
				reasoning += d.Text
			case chat.Content:
				content += d.Text
			case chat.ToolStart:
				names, args = append(names, d.Name), append(args, "")
			case chat.ToolArgs:
				args[d.Tool] += d.Text
			}
		}
	}
	s := nano().NewStream()
	for _, id := range ids {
		before, text, added := s.Step(id)
		take(p.PushToken(before, false))
		take(p.PushToken(text, added))
	}
	take(p.PushToken(s.Flush(), false))
	take(p.Flush())
	return reasoning, content, names, args, p.Open()
}

func TestToolWalks(t *testing.T) {
	tools := fmt.Sprintf(`[{"type":"function","function":{"name":"weather","parameters":%s}},{"type":"function","function":{"name":"weather_now","parameters":{"type":"object","properties":{}}}}]`, weather)
	g, err := ToolCalls([]Tool{{Name: "weather", Parameters: []byte(weather)}, {Name: "weather_now", Parameters: []byte(`{"type":"object","properties":{}}`)}}, ToolOptions{Max: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := judge(t, weather)
	for _, think := range []bool{false, true} {
		g := g
		if think {
			g = g.Thinking()
		}
		b := bind(t, g)
		r := rand.New(rand.NewPCG(3, 3))
		ended := 0
		for range 150 {
			ids, ok := drunk{r, b, r.IntN(80)}.text(t, nil)
			if !ok {
				continue
			}
			ended++
			_, content, names, args, open := read(t, tools, ids, think)
			if content != "" || open || len(names) < 1 || len(names) > 3 {
				t.Fatalf("%q: content %q, calls %q, open %v; want 1 to 3 whole calls and nothing else", spell(ids), content, names, open)
			}
			for i, name := range names {
				if name == "weather_now" && args[i] == "{}" {
					continue
				}
				if err := validate(s, args[i]); err != nil || name != "weather" {
					t.Fatalf("%q: call of %s with %s: %v", spell(ids), name, args[i], err)
				}
			}
		}
		if ended < 60 {
			t.Errorf("only %d of 150 walks ended", ended)
		}
	}
}

// A thought can hold anything; where it ends for the grammar it ends for the reader.
func TestThinkingWalks(t *testing.T) {
	schema := `{"type":"string","maxLength":5}`
	b := bind(t, mustCompile(t, schema).Thinking())
	s := judge(t, schema)
	r := rand.New(rand.NewPCG(4, 4))
	for range 150 {
		ids, ok := drunk{r, b, r.IntN(60)}.text(t, nil)
		if !ok {
			continue
		}
		_, content, _, _, _ := read(t, "", ids, true)
		if err := validate(s, content); err != nil {
			t.Fatalf("%q: content %q: %v", spell(ids), content, err)
		}
	}
}

func TestToolTexts(t *testing.T) {
	tools := []Tool{{Name: "f", Parameters: []byte(weather)}, {Name: "fn"}}
	g := func(o ToolOptions) *Grammar {
		g, err := ToolCalls(tools, o)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	call := func(params string) string {
		return "<tool_call>\n<function=f>\n<parameter=city>\nBern\n</parameter>\n" + params + "</function>\n</tool_call>"
	}
	days := "<parameter=days>\n3\n</parameter>\n"
	param := func(name, value string) string {
		return call(days + "<parameter=" + name + ">\n" + value + "\n</parameter>\n")
	}
	fn := "<tool_call>\n<function=fn>\n</function>\n</tool_call>"
	required, one, auto := g(ToolOptions{}), g(ToolOptions{Max: 1}), g(ToolOptions{Max: 1, Text: true})
	for _, c := range []struct {
		g    *Grammar
		text string
		want bool
	}{
		{required, call(days), true},
		{required, fn, true},
		{required, fn + "\n" + call(days) + "\n" + fn, true},
		{required, fn + "\n", false},
		{required, fn + fn, false},
		{required, "", false},
		{required, "Hello", false},
		{one, fn, true},
		{one, fn + "\n" + fn, false},
		{auto, "Hello, <b>you</b>", true},
		{auto, "Hello.\n\n" + fn, true},
		{auto, "Hello.\n\n" + fn + "\n" + fn, false},
		{auto, fn, true},
		{required, call(""), false},
		{required, call(days + days), false},
		{required, call("<parameter=code>\nab\n</parameter>\n" + days), true},
		{required, call(days + "<parameter=code>\nab\n</parameter>\n"), false},
		{required, call("<parameter=code>\na\n</parameter>\n" + days), false},
		{required, call("<parameter=code>\n\n\n\n</parameter>\n" + days), true},
		{required, call("<parameter=code>\na</parameter>b\n</parameter>\n" + days), false},
		{required, call("<parameter=code>\n</param\n</function>\n</parameter>\n" + days), true},
		{required, call("<parameter=unit>\ncf\n</parameter>\n" + days), true},
		{required, call("<parameter=unit>\n\"cf\"\n</parameter>\n" + days), false},
		{required, param("opts", `{"a":"<\/parameter>"}`), true},
		{required, param("opts", `{"a":"</parameter>"}`), false},
		{required, param("opts", `{"</parameter>":""}`), false},
		{required, param("opts", "{\n  \"a\": \"b\"\n}"), true},
		{required, param("size", "x1"), true},
		{required, param("size", "3"), true},
		{required, param("size", "2"), false},
		{required, param("size", "4x"), false},
		{required, param("size", " 2"), false},
		{required, param("size", ""), false},
		{required, param("note", "null"), true},
		{required, param("note", "Nina"), true},
		{required, param("note", ""), true},
		{required, param("mode", "1"), true},
		{required, param("mode", "none"), true},
		{required, param("mode", "[1]"), true},
		{required, param("mode", "2"), false},
		{required, param("pick", "null"), false},
		{required, param("pick", "true"), true},
		{required, param("pick", "xyz"), true},
		{required, param("pick", "xy"), false},
		{required, param("pick", "[1, 2]"), true},
		{required, param("any", "\"what\" {ever"), true},
	} {
		if got := fits(c.g, c.text); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
}

func TestToolRefusals(t *testing.T) {
	for _, c := range []struct {
		tools []Tool
		kind  error
		want  string // in the message
	}{
		{nil, ErrSchema, "no tools"},
		{[]Tool{{Name: ""}}, ErrSchema, "name"},
		{[]Tool{{Name: "a>b"}}, ErrSchema, "a>b"},
		{[]Tool{{Name: "a"}, {Name: "a"}}, ErrSchema, "only once"},
		{[]Tool{{Name: "a", Parameters: []byte(`{"type":"string"}`)}}, ErrSchema, "type"},
		{[]Tool{{Name: "a", Parameters: []byte(`{`)}}, ErrSchema, `tool "a"`},
		{[]Tool{{Name: "a", Parameters: []byte(`{"anyOf":[{}]}`)}}, ErrUnsupported, "anyOf"},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{"x\ny":{}}}`)}}, ErrUnsupported, "properties"},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{"x":{"type":"string","pattern":"."}}}`)}}, ErrUnsupported, `keyword "pattern" at "#/properties/x"`},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{"x":{"pattern":"."}}}`)}}, ErrUnsupported, `pattern`},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{"x":false},"required":["x"]}`)}}, ErrUnsatisfiable, `tool "a"`},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{},"required":["x"],"additionalProperties":false}`)}}, ErrUnsatisfiable, `required`},
		{[]Tool{{Name: "a", Parameters: []byte(`{"properties":{"x":{"enum":["</parameter>"]}}}`)}}, ErrUnsupported, `enum`},
	} {
		_, err := ToolCalls(c.tools, ToolOptions{})
		var se *SchemaError
		if !errors.Is(err, c.kind) || !errors.As(err, &se) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %v with %q", c.tools, err, c.kind, c.want)
		}
	}
	loose := []Tool{{Name: "a", Loose: true, Parameters: []byte(`{"properties":{"x":{"type":"string","pattern":"."}}}`)}}
	if _, err := ToolCalls(loose, ToolOptions{}); err != nil {
		t.Errorf("loose: %v", err)
	}
}

func TestParameterTypes(t *testing.T) {
	got, err := ParameterTypes([]byte(weather))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"city": "[string]", "unit": "[string]", "days": "[number]", "opts": "[object]", "size": "[number string]",
		"note": "[null string]", "mode": "[array boolean null number string]", "pick": "[array boolean null string]", "any": "[]",
	} {
		if s := fmt.Sprint(got[name]); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
}
