package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

var weather = []ToolSchema{
	{Name: "get_weather", Params: map[string]Types{"city": String, "days": Number, "note": String | Null, "deep": Object, "ok": Boolean}},
	{Name: "write", Params: map[string]Types{"path": String, "text": String}},
	{Name: "none"},
}

// show writes deltas down: R and C for texts, [n name( ... )] for calls.
func show(deltas []Delta) string {
	var b strings.Builder
	last := -1
	for _, d := range deltas {
		if k := int(d.Kind); k != last || d.Kind == ToolStart || d.Kind == ToolEnd {
			switch d.Kind {
			case Reasoning:
				b.WriteString("|R:")
			case Content:
				b.WriteString("|C:")
			case ToolStart:
				fmt.Fprintf(&b, "|%d %s(", d.Tool, d.Name)
			case ToolEnd:
				b.WriteString(")")
			}
		}
		last = int(d.Kind)
		b.WriteString(d.Text)
	}
	return b.String()
}

// outcome is all that an answer came to.
type outcome struct {
	text    string
	stopped string
	open    bool
}

func finish(p *Parser, deltas []Delta) outcome {
	deltas = append(deltas, p.Flush()...)
	s, _ := p.Stopped()
	return outcome{show(deltas), s, p.Open()}
}

// parse feeds text in one go, by spelling or (tokens) with the tags as added tokens.
func parse(o ParserOptions, text string, tokens bool) outcome {
	p := NewParser(o)
	if !tokens {
		return finish(p, p.Push(text))
	}
	var out []Delta
	for _, piece := range cutTags(text) {
		out = append(out, p.PushToken(piece, isTag(piece))...)
	}
	return finish(p, out)
}

func isTag(s string) bool {
	for _, t := range tagOf {
		if s == t {
			return true
		}
	}
	return false
}

// cutTags splits text around tags.
func cutTags(text string) []string {
	var out []string
next:
	for text != "" {
		for i := range len(text) {
			for _, t := range tagOf {
				if strings.HasPrefix(text[i:], t) {
					if i > 0 {
						out = append(out, text[:i])
					}
					out = append(out, t)
					text = text[i+len(t):]
					continue next
				}
			}
		}
		return append(out, text)
	}
	return out
}

const paris = "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"

var parserCases = []struct {
	name  string
	o     ParserOptions
	text  string
	want  string // both ways of feeding
	open  bool
	stop  string
	spelt string // by spelling, where it differs
}{
	{name: "content", text: "Hello", want: "|C:Hello"},
	{name: "empty", text: "", want: ""},
	{name: "thinking", o: ParserOptions{InThink: true}, text: "The user\ngreets.\n</think>\n\nHello!", want: "|R:The user\ngreets.|C:Hello!"},
	{name: "thinking opened by the model", text: "<think>\nhm\n</think>\n\nHi", want: "|R:hm|C:Hi"},
	{name: "thinking opened after space", text: "\n\n<think>\nhm\n</think>\n\nHi", want: "|R:hm|C:Hi"},
	{name: "empty thinking", o: ParserOptions{InThink: true}, text: "\n\n</think>\n\nHi", want: "|C:Hi"},
	{name: "no space", o: ParserOptions{InThink: true}, text: "a</think>b", want: "|R:a|C:b"},
	{name: "thinking cut", o: ParserOptions{InThink: true}, text: "so I", want: "|R:so I"},
	{name: "content keeps indentation", o: ParserOptions{InThink: true}, text: "a\n</think>\n\n    code", want: "|R:a|C:    code"},
	{name: "stray close", text: "</think>\n\nHi", want: "|C:Hi"},
	{name: "late close", text: "Hi </think> there", want: "|C:Hi </think> there"},
	{name: "late open", text: "Hi <think> there", want: "|C:Hi <think> there"},
	{name: "second thinking", o: ParserOptions{InThink: true}, text: "a\n</think>\n\n<think>b", want: "|R:a|C:<think>b"},
	{name: "trailing space", text: "Hi \n", want: "|C:Hi \n"},
	{name: "only space", text: " \n", want: "|C: \n"},
	{name: "quoted in code", o: ParserOptions{InThink: true}, text: "I write `</think>` last.\n</think>\n\nok", want: "|R:I write `</think>` last.|C:ok"},
	{name: "quoted", o: ParserOptions{InThink: true}, text: "I write \"</think>\" or '</think>'.\n</think>\n\nok", want: "|R:I write \"</think>\" or '</think>'.|C:ok"},
	{name: "quote before the end", o: ParserOptions{InThink: true}, text: "say \"a\"</think>\n\nok", want: "|R:say \"a\"|C:ok"},
	{name: "in a fence", o: ParserOptions{InThink: true}, text: "```\n<think>\nx\n</think>\ny\n```\nso\n</think>\n\nok", want: "|R:```\n<think>\nx\n</think>\ny\n```\nso|C:ok"},
	{name: "fence left open", o: ParserOptions{InThink: true}, text: "```go\nx := 1\n</think>\n\nok", want: "|R:```go\nx := 1|C:ok"},
	{name: "tick left open", o: ParserOptions{InThink: true}, text: "use `x</think>\n\nok", want: "|R:use `x|C:ok"},
	{name: "call in thinking", o: ParserOptions{InThink: true}, text: "maybe <tool_call>\n<function=f>\n</function>\n</tool_call>?\n</think>\n\nno",
		want: "|R:maybe <tool_call>\n<function=f>\n</function>\n</tool_call>?|C:no"},
	{name: "call", text: paris, want: `|0 get_weather({"city": "Paris"})`},
	{name: "call after thinking", o: ParserOptions{InThink: true}, text: "I need it.\n</think>\n\n" + paris, want: `|R:I need it.|0 get_weather({"city": "Paris"})`},
	{name: "call after content", text: "Checking.\n\n" + paris + "\n" + paris, want: `|C:Checking.|0 get_weather({"city": "Paris"})|1 get_weather({"city": "Paris"})`},
	{name: "content after call", text: paris + "\n\nDone.\n", want: "|0 get_weather({\"city\": \"Paris\"})|C:Done.\n"},
	{name: "content around call", text: "A\n" + paris + "\nB", want: "|C:A|0 get_weather({\"city\": \"Paris\"})|C:\nB"},
	{name: "space after call", text: paris + "\n", want: `|0 get_weather({"city": "Paris"})`},
	{name: "no arguments", text: "<tool_call>\n<function=none>\n</function>\n</tool_call>", want: "|0 none({})"},
	{name: "no arguments, function not closed", text: "<tool_call><function=none></tool_call>", want: "|0 none({})"},
	{name: "types", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n<parameter=deep>\n{\"a\": [1, \"x\"]}\n</parameter>\n<parameter=ok>\nTrue\n</parameter>\n<parameter=note>\nnull\n</parameter>\n</function>\n</tool_call>",
		want: `|0 get_weather({"city": "12", "days": 3, "deep": {"a": [1, "x"]}, "ok": true, "note": null})`},
	{name: "types that do not parse", text: "<tool_call>\n<function=get_weather>\n<parameter=days>\nsoon\n</parameter>\n<parameter=deep>\n{a\n</parameter>\n<parameter=note>\nnullable\n</parameter>\n</function>\n</tool_call>",
		want: `|0 get_weather({"days": "soon", "deep": "{a", "note": "nullable"})`},
	{name: "unknown tool", text: "<tool_call>\n<function=f>\n<parameter=a>\n1.50\n</parameter>\n<parameter=b>\n\"q\"\n</parameter>\n<parameter=c>\n[1,\n2]\n</parameter>\n<parameter=d>\nx y\n</parameter>\n</function>\n</tool_call>",
		want: `|0 f({"a": 1.50, "b": "\"q\"", "c": [1,` + "\n" + `2], "d": "x y"})`},
	{name: "empty and blank values", text: "<tool_call>\n<function=write>\n<parameter=path>\n\n</parameter>\n<parameter=text>\n\n\n</parameter>\n</function>\n</tool_call>", want: `|0 write({"path": "", "text": "\n"})`},
	{name: "no line ends", text: "<tool_call><function=write><parameter=path>a</parameter><parameter=text>b</parameter></function></tool_call>", want: `|0 write({"path": "a", "text": "b"})`},
	{name: "escapes", text: "<tool_call>\n<function=write>\n<parameter=path>\n\"\\\t\x01é🙂\n</parameter>\n</function>\n</tool_call>", want: `|0 write({"path": "\"\\\t\u0001é🙂"})`},
	{name: "look-alikes in a value", text: "<tool_call>\n<function=write>\n<parameter=text>\na</parameter>b\n</parameter>\nc\n</function>\nd<parameter=x>e</function> </parameter> </func\n</parameter>\n</function>\n</tool_call>",
		want: `|0 write({"text": "a</parameter>b\n</parameter>\nc\n</function>\nd<parameter=x>e</function> </parameter> </func"})`},
	{name: "closing tags in a value", text: "<tool_call>\n<function=write>\n<parameter=text>\nx\n</parameter>\n</function>\ny\n</parameter>\n</function>\n</tool_call>",
		want: `|0 write({"text": "x\n</parameter>\n</function>\ny"})`},
	{name: "tags in a value", text: "<tool_call>\n<function=write>\n<parameter=text>\n<think>a</think><tool_call>\n</parameter>\n</function>\n</tool_call>", want: `|0 write({"text": "<think>a</think><tool_call>"})`},
	{name: "parameter not closed", text: "<tool_call>\n<function=write>\n<parameter=path>\na\n</function>\n</tool_call>!", want: `|0 write({"path": "a"})|C:!`},
	{name: "function not closed", text: "<tool_call>\n<function=write>\n<parameter=path>\na\n</parameter>\n</tool_call>!", want: `|0 write({"path": "a"})|C:!`},
	{name: "nothing closed", text: "<tool_call>\n<function=write>\n<parameter=path>\na\n</tool_call>!", want: `|0 write({"path": "a"})|C:!`,
		spelt: `|0 write({"path": "a\n</tool_call>!`, open: true},
	{name: "end of call quoted in a value", text: "<tool_call>\n<function=write>\n<parameter=path>\n\"</tool_call>\" and '</tool_call>'\n</parameter>\n<parameter=text>\n`</tool_call>`\n</parameter>\n</function>\n</tool_call>",
		want: `|0 write({"path": "\"</tool_call>\" and '</tool_call>'", "text": "` + "`</tool_call>`" + `"})`},
	{name: "value ends with a quotation mark, nothing closed", text: "<tool_call>\n<function=write>\n<parameter=path>\n\"a\"</tool_call>\n\"", want: "|0 write({\"path\": \"\\\"a\\\"\"})|C:\"",
		spelt: "|0 write({\"path\": \"\\\"a\\\"</tool_call>\\n\\\"", open: true},
	{name: "cut in the name", text: "Ok\n\n<tool_call>\n<function=get_w", want: "|C:Ok", open: true},
	{name: "cut before parameters", text: "<tool_call>\n<function=get_weather>\n<para", want: "|0 get_weather(", open: true},
	{name: "cut in a value", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\nPar", want: `|0 get_weather({"city": "Par`, open: true},
	{name: "cut in a closing tag", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</param", want: `|0 get_weather({"city": "Paris`, open: true},
	{name: "cut behind a parameter", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n", want: `|0 get_weather({"city": "Paris"`, open: true},
	{name: "cut before the last tag", text: "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n", want: `|0 get_weather({"city": "Paris"})`},
	{name: "cut before the last tag, no arguments", text: "<tool_call>\n<function=none>\n</function>", want: `|0 none({})`},
	{name: "malformed: json", text: "<tool_call>\n{\"name\": \"f\"}\n</tool_call>", want: "|C:<tool_call>\n{\"name\": \"f\"}\n</tool_call>"},
	{name: "malformed: name", text: "a <tool_call>\n<function=\n>b", want: "|C:a <tool_call>\n<function=\n>b"},
	{name: "malformed: text", text: "<tool_call>\n<function=f>\nwhat\n</function>\n</tool_call>", want: "|C:<tool_call>\n<function=f>\nwhat\n</function>\n</tool_call>"},
	{name: "malformed, then right", text: "<tool_call>" + paris, want: "|C:<tool_call>|0 get_weather({\"city\": \"Paris\"})"},
	{name: "call in a fence", text: "Like this:\n```xml\n" + paris + "\n```\nok", want: "|C:Like this:\n```xml\n" + paris + "\n```\nok"},
	{name: "call in ticks", text: "Write `<tool_call>` first.", want: "|C:Write `<tool_call>` first."},
	{name: "call in quotes", text: "Write \"<tool_call>\" first.", want: "|C:Write \"<tool_call>\" first."},
	{name: "call after a fence", text: "```\nx\n```\n" + paris, want: "|C:```\nx\n```|0 get_weather({\"city\": \"Paris\"})"},
	{name: "stop", o: ParserOptions{Stop: []string{"STOP"}}, text: "abc STOP def", want: "|C:abc ", stop: "STOP"},
	{name: "stop, nearly", o: ParserOptions{Stop: []string{"STOP"}}, text: "abc STO STOSTO", want: "|C:abc STO STOSTO"},
	{name: "stop, overlapping", o: ParserOptions{Stop: []string{"aab"}}, text: "xaaab!", want: "|C:xa", stop: "aab"},
	{name: "stop, several", o: ParserOptions{Stop: []string{"", "cd", "bcd", "zz"}}, text: "abcde", want: "|C:a", stop: "bcd"},
	{name: "stop, first to end", o: ParserOptions{Stop: []string{"abcdef", "cd"}}, text: "abcdef", want: "|C:ab", stop: "cd"},
	{name: "stop not in thinking", o: ParserOptions{InThink: true, Stop: []string{"STOP"}}, text: "STOP\n</think>\n\na STOP", want: "|R:STOP|C:a ", stop: "STOP"},
	{name: "stop not framing", o: ParserOptions{InThink: true, Stop: []string{"\n\n"}}, text: "t\n</think>\n\na\n\nb", want: "|R:t|C:a", stop: "\n\n"},
	{name: "stop not in calls", o: ParserOptions{Stop: []string{"Paris"}}, text: paris + "\nin Paris", want: "|0 get_weather({\"city\": \"Paris\"})|C:in ", stop: "Paris"},
	{name: "stop held before a call", o: ParserOptions{Stop: []string{"ok\n\nUser"}}, text: "ok\n\n" + paris, want: "|C:ok|0 get_weather({\"city\": \"Paris\"})"},
	{name: "stop held, then thinking", o: ParserOptions{Stop: []string{"\nUser"}}, text: "\n<think>\na\n</think>\n\nb", want: "|R:a|C:b"},
	{name: "stop at the end", o: ParserOptions{Stop: []string{"é!"}}, text: "caféé!", want: "|C:café", stop: "é!"},
	{name: "stop whole", o: ParserOptions{Stop: []string{"a"}}, text: "a", want: "", stop: "a"},
	{name: "plain", o: ParserOptions{Plain: true, InThink: true}, text: "<think>\n\na</think>\n\n" + paris + "\n", want: "|C:<think>\n\na</think>\n\n" + paris + "\n"},
	{name: "plain stop", o: ParserOptions{Plain: true, Stop: []string{"</think>"}}, text: "a </think> b", want: "|C:a ", stop: "</think>"},
}

func TestParser(t *testing.T) {
	for _, c := range parserCases {
		o := c.o
		o.Tools = weather
		want := outcome{c.want, c.stop, c.open && c.spelt == ""}
		if got := parse(o, c.text, true); got != want {
			t.Errorf("%s, by tokens:\n got %+v\nwant %+v", c.name, got, want)
		}
		if c.spelt != "" {
			want.text, want.open = c.spelt, c.open
		}
		if got := parse(o, c.text, false); got != want {
			t.Errorf("%s, by spelling:\n got %+v\nwant %+v", c.name, got, want)
		}
	}
}

// TestTokensOnly: once added tokens are told, spelled-out tags are text.
func TestTokensOnly(t *testing.T) {
	p := NewParser(ParserOptions{InThink: true, Tools: weather})
	var out []Delta
	for _, piece := range []struct {
		text  string
		added bool
	}{{"I write </think> and\n</th", false}, {"ink>\n\n", false}, {"so\n", false}, {"</think>", true}, {"\n\n", false}, {"x <tool_call>\n<function=none>", false},
		{"\n</function>\n</tool_call>\n", false}, {"\uFFFD<tool_call>", true}, {"\n<function=write>\n<parameter=text>\n", false}, {"</parameter>\n</function>\n</tool_call>\n", false},
		{"</parameter>\n</function>\n", false}, {"</tool_call>", true}} {
		out = append(out, p.PushToken(piece.text, piece.added)...)
	}
	got := finish(p, out)
	want := outcome{text: "|R:I write </think> and\n</think>\n\nso|C:x <tool_call>\n<function=none>\n</function>\n</tool_call>\n\uFFFD" +
		"|0 write({\"text\": \"</parameter>\\n</function>\\n</tool_call>\"})"}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// checkCuts feeds text cut at every place, and in single characters: the outcome must not depend on it.
func checkCuts(t *testing.T, o ParserOptions, text string, tokens bool) {
	t.Helper()
	want := parse(o, text, tokens)
	run := func(cuts []string) {
		t.Helper()
		p := NewParser(o)
		var out []Delta
		for _, s := range cuts {
			var d []Delta
			if tokens {
				d = p.PushToken(s, isTag(s))
			} else {
				d = p.Push(s)
			}
			for _, d := range d {
				if !utf8.ValidString(d.Text) || d.Text == "" && (d.Kind == Content || d.Kind == Reasoning || d.Kind == ToolArgs) {
					t.Fatalf("%q gave the delta %+v", cuts, d)
				}
			}
			out = append(out, d...)
		}
		if got := finish(p, out); got != want {
			t.Fatalf("cut %q, tokens %v:\n got %+v\nwant %+v", cuts, tokens, got, want)
		}
	}
	pieces := []string{text}
	if tokens {
		pieces = cutTags(text)
	}
	var single []string
	for k, piece := range pieces {
		if tokens && isTag(piece) {
			single = append(single, piece)
			continue
		}
		for i := range piece { // every character boundary
			if i > 0 {
				cuts := append(append(append([]string{}, pieces[:k]...), piece[:i], piece[i:]), pieces[k+1:]...)
				run(cuts)
			}
		}
		for _, r := range piece {
			single = append(single, string(r))
		}
	}
	run(single)
}

func TestEverySplit(t *testing.T) {
	for _, c := range parserCases {
		o := c.o
		o.Tools = weather
		checkCuts(t, o, c.text, false)
		checkCuts(t, o, c.text, true)
	}
}

// checkAnswer holds an answer against what must be true of any.
func checkAnswer(t *testing.T, o ParserOptions, text string, tokens bool) {
	t.Helper()
	p := NewParser(o)
	var out []Delta
	if tokens {
		for _, piece := range cutTags(text) {
			out = append(out, p.PushToken(piece, isTag(piece))...)
		}
	} else {
		out = p.Push(text)
	}
	out = append(out, p.Flush()...)
	args := map[int]string{}
	ended := map[int]bool{}
	calls := 0
	var content string
	for _, d := range out {
		switch d.Kind {
		case ToolStart:
			if d.Tool != calls || d.Name == "" {
				t.Fatalf("%q: start of call %d %q, want number %d", text, d.Tool, d.Name, calls)
			}
			calls++
		case ToolArgs:
			if ended[d.Tool] || d.Tool != calls-1 {
				t.Fatalf("%q: arguments for call %d of %d", text, d.Tool, calls)
			}
			args[d.Tool] += d.Text
		case ToolEnd:
			ended[d.Tool] = true
			var v map[string]any
			if err := json.Unmarshal([]byte(args[d.Tool]), &v); err != nil {
				t.Fatalf("%q: arguments %q: %v", text, args[d.Tool], err)
			}
		case Content:
			content += d.Text
		}
	}
	for i := range calls {
		if !ended[i] && (!p.Open() || i != calls-1) {
			t.Fatalf("%q: call %d has no end, open %v", text, i, p.Open())
		}
	}
	stop, stopped := p.Stopped()
	if stopped && stop == "" {
		t.Fatalf("%q: stopped by nothing", text)
	}
	for _, s := range o.Stop {
		if s != "" && strings.Contains(content, s) {
			t.Fatalf("%q: content %q has the stop string %q", text, content, s)
		}
	}
}

func FuzzParser(f *testing.F) {
	for i, c := range parserCases {
		f.Add(c.text, uint8(i), "STOP")
	}
	f.Fuzz(func(t *testing.T, text string, flags uint8, stop string) {
		if len(text) > 600 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		stop = strings.ToValidUTF8(stop, "?")
		o := ParserOptions{InThink: flags&1 != 0, Plain: flags&14 == 14}
		if flags&16 != 0 {
			o.Tools = weather
		}
		if flags&32 != 0 {
			o.Stop = []string{stop, "</parameter>", "\n\nU"}
		}
		tokens := flags&64 != 0
		checkAnswer(t, o, text, tokens)
		checkCuts(t, o, text, tokens)
	})
}
