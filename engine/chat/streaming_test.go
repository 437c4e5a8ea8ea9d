package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNoDelay: what is certain is given at once, and what is not is held back.
func TestNoDelay(t *testing.T) {
	p := NewParser(ParserOptions{InThink: true, Tools: weather, Stop: []string{"END"}})
	for _, s := range []struct {
		text, want string
		thinking   bool
		open       bool
	}{
		{"I ", "|R:I", true, false}, {"think", "|R: think", true, false}, {"\n</th", "", true, false}, {"ink>", "", false, false}, {"\n", "", false, false}, {"\nHel", "|C:Hel", false, false},
		{"lo E", "|C:lo", false, false}, {"N", "", false, false}, {"d.\n", "|C: ENd.", false, false}, {"\n<tool", "", false, false}, {"_call>", "", false, true}, {"\n<function=wri", "", false, true},
		{"te>\n", "", false, true}, {"<parameter=text>", "|0 write({\"text\": \"", false, true}, {"\nfunc", "func", false, true}, {" main() {\n", " main() {", false, true},
		{"\t\"x\"", `\n\t\"x\"`, false, true}, {"\n</para", "", false, true}, {"graph>", `\n</paragraph>`, false, true}, {"\n</parameter>\n", "", false, true}, {"</function>", "", false, true},
		{"\n</tool_call>", "\"})", false, false}, {"\nDone", "|C:\nDone", false, false}, {" END!", "|C: ", false, false}, {"more", "", false, false},
	} {
		if got := strings.TrimPrefix(show(p.Push(s.text)), "\x00"); got != s.want {
			t.Errorf("Push(%q) gave %q, want %q", s.text, got, s.want)
		}
		if p.Thinking() != s.thinking || p.Open() != s.open {
			t.Errorf("after %q: thinking %v, open %v, want %v, %v", s.text, p.Thinking(), p.Open(), s.thinking, s.open)
		}
	}
	if got := p.Flush(); got != nil {
		t.Errorf("Flush after a stop gave %v", got)
	}
	if s, ok := p.Stopped(); !ok || s != "END" {
		t.Errorf("Stopped() = %q, %v", s, ok)
	}
}

// TestOptionalTextStreams: a text that may also be null is given out as soon as it cannot be null.
func TestOptionalTextStreams(t *testing.T) {
	p := NewParser(ParserOptions{Tools: weather})
	p.Push("<tool_call>\n<function=get_weather>\n<parameter=note>\n")
	for _, s := range []struct{ text, want string }{{"nu", ""}, {"ll", ""}, {"able", `"nullable`}, {" x", ` x`}} {
		if got := show(p.Push(s.text)); got != s.want {
			t.Errorf("Push(%q) gave %q, want %q", s.text, got, s.want)
		}
	}
}

// TestLongAnswersAreLinear feeds a megabyte in one push and in small ones, of what makes a parser look back.
func TestLongAnswersAreLinear(t *testing.T) {
	const head = "<tool_call>\n<function=write>\n<parameter=text>\n"
	for name, s := range map[string]string{
		"text": strings.Repeat("word ", 200_000), "tags": strings.Repeat("a<think>", 125_000), "calls": strings.Repeat("<tool_call>", 90_000), "line ends": strings.Repeat("\n", 1_000_000),
		"backticks": strings.Repeat("`", 1_000_000), "closers": head + strings.Repeat("\n</parameter>", 80_000), "parameters": head + strings.Repeat("</parameter>\n<parameter=", 40_000),
		"functions": head + strings.Repeat("</parameter>\n</function>\n", 40_000), "brackets": strings.Repeat("<", 1_000_000), "many parameters": head + strings.Repeat("x\n</parameter>\n<parameter=a>\n", 35_000),
		"spaces in a call": head + "</parameter>" + strings.Repeat(" ", 1_000_000), "stops": strings.Repeat("aaaaaaab", 125_000),
	} {
		o := ParserOptions{Tools: weather, Stop: []string{strings.Repeat("a", 50), "\n\nUser:"}}
		begin := time.Now()
		p := NewParser(o)
		n := len(show(append(p.Push(s), p.Flush()...)))
		p = NewParser(o)
		for i := 0; i < len(s); i += 4 {
			p.PushToken(s[i:min(i+4, len(s))], false)
		}
		p.Flush()
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(s), took)
		} else {
			t.Logf("%s: %d bytes to %d in %v", name, len(s), n, took)
		}
	}
}

// TestLongConversation renders a conversation as long as any context: limits are for hostile templates, not for this.
func TestLongConversation(t *testing.T) {
	list := []json.RawMessage{json.RawMessage(`{"role":"system","content":"Be brief."}`)}
	long := strings.Repeat("All work and no play. ", 40)
	for i := range 2000 {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"%d %s"}`, i, long)), json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":"%s","reasoning_content":"hm"}`, long)))
	}
	begin := time.Now()
	text, err := nanoTemplate(t).Render(Input{Messages: list, AddGenerationPrompt: true, Kwargs: map[string]any{"preserve_thinking": true}})
	if err != nil || len(text) < 3_000_000 {
		t.Fatalf("got %d bytes, %v", len(text), err)
	}
	t.Logf("%d messages, %d bytes in %v", len(list), len(text), time.Since(begin))
}

func Example() {
	p := NewParser(ParserOptions{InThink: true})
	for _, piece := range []string{"The user gre", "ets me.\n</thi", "nk>\n\nHello", "!\n\n<tool_call>\n<function=wave>\n<parameter=times>\n2\n</parameter>\n</func", "tion>\n</tool_call>"} {
		for _, d := range p.Push(piece) {
			fmt.Printf("%s %d %s%q\n", d.Kind, d.Tool, d.Name, d.Text)
		}
	}
	fmt.Println(len(p.Flush()), p.Open())
	// Output:
	// reasoning 0 "The user gre"
	// reasoning 0 "ets me."
	// content 0 "Hello"
	// content 0 "!"
	// tool_start 0 wave""
	// tool_args 0 "{\"times\": "
	// tool_args 0 "2}"
	// tool_end 0 ""
	// 0 false
}
