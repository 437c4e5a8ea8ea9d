package server

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changing is what differs from run to run: ids, times, fresh seeds.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b(chatcmpl-|cmpl-|resp_|msg_|rs_|fc_|toolu_|call_|req-)[0-9a-f]{24}`), "${1}ID"},
	{regexp.MustCompile(`"(created|created_at|completed_at)":\d+`), `"$1":0`},
}

// TestGoldenTranscripts: the bytes of every wire, whole and streamed, do not change unnoticed.
func TestGoldenTranscripts(t *testing.T) {
	for name, c := range map[string]struct{ path, body string }{
		"chat":        {"/v1/chat/completions", `{"seed":1,"logprobs":true,"top_logprobs":1,"tools":[` + aTool + `],"messages":[{"role":"user","content":"hi"}]`},
		"completions": {"/v1/completions", `{"seed":1,"echo":true,"logprobs":1,"prompt":"a b"`},
		"responses":   {"/v1/responses", `{"seed":1,"include":["message.output_text.logprobs"],"tools":[{"type":"function","name":"f"}],"input":"hi"`},
		"messages":    {"/v1/messages", `{"seed":1,"max_tokens":2000,"thinking":{"type":"adaptive"},"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"}]`},
	} {
		for suffix, stream := range map[string]string{".json": "}", ".sse": `,"stream":true,"stream_options":{"include_usage":true}}`} {
			if name == "responses" || name == "messages" {
				stream = strings.Replace(stream, `,"stream_options":{"include_usage":true}`, "", 1)
			}
			t.Run(name+suffix, func(t *testing.T) {
				e := newFake()
				e.script = spell(t, "Hm.\n</think>\n\nHé!\n\n<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call><|im_end|>")
				w := call(testServer(t, e, Options{}), "POST", c.path, c.body+stream)
				got := w.Body.String()
				for _, r := range changing {
					got = r.pattern.ReplaceAllString(got, r.by)
				}
				file := filepath.Join("testdata", name+suffix)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Errorf("%s (-want +got):\n%s", file, d)
				}
			})
		}
	}
}
