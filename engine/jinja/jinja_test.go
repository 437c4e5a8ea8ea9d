package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
)

func render(t testing.TB, src string, vars map[string]any) string {
	t.Helper()
	tpl, err := Parse(src)
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	out, err := tpl.Render(vars)
	if err != nil {
		t.Fatalf("Render(%q): %v", src, err)
	}
	return out
}

// TestErrorLines checks that errors name the line of the template.
func TestErrorLines(t *testing.T) {
	for _, c := range []struct {
		src  string
		line int
		text string
	}{
		{"a\nb\n{{ x y }}", 3, "unexpected"},
		{"a\r\nb\r\n{{ x y }}", 3, "unexpected"},
		{"{{ 1 }}\n{% include 'x' %}", 2, "unsupported tag"},
		{"{% block x %}{% endblock %}", 1, "unsupported tag"},
		{"\n\n{% call f() %}{% endcall %}", 3, "unsupported tag"},
		{"\n{% frobnicate %}", 2, "unknown tag"},
		{"\n{{ x | frobnicate }}", 2, "unknown filter"},
		{"\n{{ x is frobnicate }}", 2, "unknown test"},
		{"\n\n{% if x %}\n\n", 4, "endif"},
		{"{% raw %}\n{{", 1, "raw"},
		{"\n{# x", 2, "comment"},
		{"\n{{ 'x", 2, "string"},
		{"{{ f(*a) }}", 1, "unpacking"},
		{"{% macro f() %}{{ caller() }}{% endmacro %}", 1, "caller"},
		{"{{ '\\N{BULLET}' }}", 1, "escape"},
		{"{{ 99999999999999999999 }}", 1, "out of range"},
		{strings.Repeat("(", 1000), 0, ""},
	} {
		_, err := Parse(c.src)
		var e *Error
		if strings.HasPrefix(c.src, "(") {
			continue // plain text
		}
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Error(), c.text) {
			t.Errorf("Parse(%q) = %v, want line %d and %q", c.src, err, c.line, c.text)
		}
	}
	for _, c := range []struct {
		src  string
		line int
		text string
	}{
		{"\n\n{{ x.y.z }}", 3, "x"},
		{"\n{% for a in 5 %}{% endfor %}", 2, "iterable"},
		{"{% if true %}\n{{ 1 / 0 }}{% endif %}", 2, "zero"},
		{"{% macro f() %}\n\n{{ 'a' + 1 }}{% endmacro %}\n{{ f() }}", 3, "operand"},
	} {
		tpl, err := Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Render(nil)
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Error(), c.text) {
			t.Errorf("Render(%q) = %v, want line %d and %q", c.src, err, c.line, c.text)
		}
	}
	_, err := mustParse(t, "{{ a.b }}").Render(nil)
	if !errors.Is(err, ErrUndefined) {
		t.Errorf("attribute of undefined: %v", err)
	}
}

func mustParse(t testing.TB, src string) *Template {
	t.Helper()
	tpl, err := Parse(src)
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	return tpl
}

// TestLimits renders templates that would take all time or memory.
func TestLimits(t *testing.T) {
	small := Limits{Steps: 200_000, Bytes: 1 << 20, Output: 1 << 16, Depth: 40}
	for _, src := range []string{
		"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
		"{% for a in range(99999) %}{{ 'aaaaaaaaaaaaaaaa' }}{% endfor %}",
		"{{ 'a' * 1000000000000 }}", "{{ [1] * 1000000000000 }}", "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
		"{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(300) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s|tojson }}",
		"{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}",
		"{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s == ns.t }}",
		"{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s < ns.t }}",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"{% macro f(n) %}{{ f(n+1) }}{{ f(n+1) }}{% endmacro %}{{ f(0) }}",
		"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"{{ 'a'.zfill(100000000) }}", "{{ 'a'.center(100000000) }}", "{{ 'x'|indent(65536)|indent(65536, true)|indent(65536, true) * 900 }}",
		"{{ (range(100000)|list|join(',' * 100000)) }}", "{{ range(100000)|map('string')|join|length * range(100000)|list|length }}{{ range(100000)|unique|list|length }}",
		"{% set a %}{% for i in range(99999) %}xxxxxxxxxxxxxxxx{% endfor %}{% endset %}",
		"{{ '%99999999s' % 'a' }}", "{{ ('a,' * 99999).split(',')|join('bbbbbbbbbbbbbbbbbb') }}",
	} {
		_, err := mustParse(t, src).RenderWith(nil, Options{Limits: small})
		if err == nil {
			t.Errorf("%q: rendered, want an error", src)
		} else if !errors.Is(err, ErrLimit) && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%q: %v, want a limit", src, err)
		}
	}
	for _, src := range []string{
		"{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}",
		"{{ " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + " }}",
		"{{ " + strings.Repeat("not ", 5000) + "1 }}", "{{ " + strings.Repeat("-", 5000) + "1 }}",
		"{{ " + strings.Repeat("1 if 1 else ", 5000) + "1 }}", strings.Repeat("{% if 1 %}", 5000) + strings.Repeat("{% endif %}", 5000),
		"{% for " + strings.Repeat("(", 5000) + "a" + strings.Repeat(")", 5000) + " in b %}{% endfor %}",
	} {
		if _, err := Parse(src); !errors.Is(err, ErrLimit) {
			t.Errorf("Parse(%.40q...) = %v, want a limit", src, err)
		}
	}
	// Long chains are no nesting: they must neither fail nor overflow the stack.
	if got := render(t, "{{ 0"+strings.Repeat(" + 1", 3000)+" }}", nil); got != "3000" {
		t.Errorf("a long sum is %s", got)
	}
}

func TestFromJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"b":1,"a":2.0,"b":3}`, `{"b": 3, "a": 2.0}`},
		{`[1,1.0,1e2,-0,1E400,123456789012345678901234567890]`, `[1, 1.0, 100.0, 0, Infinity, 123456789012345678901234567890]`},
		{`"\ud83d\ude00\u0000<"`, "\"😀\\u0000<\""},
		{` null `, `null`}, {`true`, `true`}, {`{}`, `{}`}, {`[]`, `[]`},
	} {
		v, err := FromJSON([]byte(c.in))
		if err != nil {
			t.Errorf("FromJSON(%s): %v", c.in, err)
			continue
		}
		if got, err := ToJSON(v); err != nil || got != c.want {
			t.Errorf("%s became %s, %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "{", "[1,]", "1 2", `{"a"}`, strings.Repeat("[", 300) + strings.Repeat("]", 300), "nul", strings.Repeat("9", 5000)} {
		if v, err := FromJSON([]byte(in)); err == nil {
			t.Errorf("FromJSON(%.20q) = %v, want an error", in, v)
		}
	}
}

func TestFromGo(t *testing.T) {
	v, err := FromGo(map[string]any{"z": []any{1, int32(2), float32(0.5), "x", nil, true, json.Number("7"), json.RawMessage(`{"k":1}`), []string{"a"}}, "a": big.NewInt(3)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(render(t, "{{ v }}", map[string]any{"v": v})), `{'a': 3, 'z': [1, 2, 0.5, 'x', None, True, 7, {'k': 1}, ['a']]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := FromGo(struct{}{}); err == nil {
		t.Error("a struct is no template value")
	}
	if _, err := mustParse(t, "x").Render(map[string]any{"bad": make(chan int)}); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("a bad variable: %v", err)
	}
}

func TestConcurrentRender(t *testing.T) {
	tpl := mustParse(t, "{% set ns = namespace(n=0) %}{% for x in range(n) %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}")
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			for range 50 {
				got, err := tpl.Render(map[string]any{"n": n})
				if want := fmt.Sprint(n * (n - 1) / 2); err != nil || got != want {
					t.Errorf("n %d: got %s, %v, want %s", n, got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func Example() {
	tpl, err := Parse("{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}")
	if err != nil {
		fmt.Println(err)
		return
	}
	messages, err := FromJSON([]byte(`[{"role": "user", "content": " Hi "}, {"role": "assistant", "content": "Hello"}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := tpl.Render(map[string]any{"messages": messages})
	fmt.Println(text, err)
	// Output:
	// user: Hi
	// assistant: Hello
	//  <nil>
}

// seeds are templates for the fuzz tests: the whole Python table.
func seeds(f *testing.F) {
	var golden struct{ Cases []struct{ Template string } }
	readGolden(f, "testdata/python.json", &golden)
	for _, c := range golden.Cases {
		f.Add(c.Template)
	}
	f.Add("{% for a in b recursive %}{% set x.y = a|map('x')|list %}{% endfor %}")
}

// FuzzRender: no template may hang, panic, take more than its limits, or fail with an error that is not ours.
func FuzzRender(f *testing.F) {
	seeds(f)
	var golden struct{ Vars json.RawMessage }
	readGolden(f, "testdata/python.json", &golden)
	vars := goldenCase{Kwargs: golden.Vars}.vars(f)
	f.Fuzz(func(t *testing.T, src string) {
		tpl, err := Parse(src)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("Parse(%q): %T %v", src, err, err)
			}
			return
		}
		a, err := tpl.RenderWith(vars, Options{Limits: Limits{Steps: 20000, Bytes: 1 << 20, Output: 1 << 16, Depth: 30}})
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("Render(%q): %T %v", src, err, err)
			}
			return
		}
		if len(a) > 1<<16 {
			t.Fatalf("%q gave %d bytes", src, len(a))
		}
	})
}

func FuzzFromJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true,{"b":{}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := FromJSON(raw)
		if err != nil {
			return
		}
		s, err := ToJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s, "Infinity") {
			return
		}
		again, err := FromJSON([]byte(s))
		if err != nil {
			t.Fatalf("%s does not read back: %v", s, err)
		}
		r := &run{limits: Limits{}.orDefault()}
		if same, err := r.equal(v, again); err != nil || !same {
			t.Fatalf("%s read back differs", s)
		}
	})
}
