package intake

import (
	"os"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

func nanoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	var files [2][]byte
	for i, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		var err error
		if files[i], err = os.ReadFile("../../nano/pack/" + name); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := tokenizer.Load(files[0], files[1])
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestOneCallEndsWithAWholeCall: the end of a call ends the answer only where it ends one: not quoted in reasoning, in a value, or
// behind a call that is none. How many tokens a round brings changes nothing.
func TestOneCallEndsWithAWholeCall(t *testing.T) {
	tok := nanoTokenizer(t)
	const call = "<tool_call>\n<function=f>\n<parameter=x>\nsay \"</tool_call>\"\n</parameter>\n</function>\n</tool_call>"
	const before = "I end it with `</tool_call>`, or </tool_call>.\n</think>\n\n<tool_call>\nno call\n</tool_call>\n"
	whole, err := tok.Encode(before + call)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode(before + call + "\n" + call)
	if err != nil {
		t.Fatal(err)
	}
	tools := []chat.ToolSchema{{Name: "f", Params: map[string]chat.Types{"x": chat.String}}}
	for _, width := range []int{1, 3, 8, len(ids)} {
		for _, one := range []bool{true, false} {
			r := &Request{OneCall: one, Parse: chat.ParserOptions{InThink: true, Tools: tools}}
			s := newTranscript(r, 4096, func(int32) bool { return false }, tok)
			done := false
			for at := 0; at < len(ids) && !done; at += width {
				var round []sample.Token
				for _, id := range ids[at:min(at+width, len(ids))] {
					round = append(round, sample.Token{ID: id})
				}
				_, _, done = s.add(round, 0, 0)
			}
			want, calls := ids, 2
			if one {
				want, calls = whole, 1
			}
			if done != one || s.calls != calls || !slices.Equal(s.ledger, want) || one && s.finish != FinishToolCalls {
				t.Errorf("one %v, %d a round: got done %v, %d calls, %d tokens, finish %q; want %v, %d, %d",
					one, width, done, s.calls, len(s.ledger), s.finish, one, calls, len(want))
			}
		}
	}
}
