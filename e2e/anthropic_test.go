package e2e

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func anthropicClient() anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(flash.url), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func say(text string) []anthropic.MessageParam {
	return []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}
}

func coolly(text string, most int64) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "nano", MaxTokens: most, Messages: say(text)}
}

var cold = option.WithJSONSet("temperature", 0)

// follow streams an answer into the SDK's accumulator and returns it with the types of its events.
func follow(t *testing.T, p anthropic.MessageNewParams) (m anthropic.Message, types []string) {
	t.Helper()
	c := anthropicClient()
	stream := c.Messages.NewStreaming(t.Context(), p, cold)
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatalf("%v at %s", err, stream.Current().RawJSON())
		}
		types = append(types, stream.Current().Type)
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return m, types
}

// blocks puts the content into a form that can be compared.
func blocks(m *anthropic.Message) (out []string) {
	for _, b := range m.Content {
		out = append(out, b.Type+": "+b.Text+b.Thinking+b.Name+string(b.Input))
	}
	return out
}

// read is how many tokens the prompt had, run or from a cache.
func read(m *anthropic.Message) int64 {
	return m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens
}

// TestMessages: whole and streamed, with thinking and without.
func TestMessages(t *testing.T) {
	c := anthropicClient()
	for _, thinks := range []bool{false, true} {
		p := coolly("Hello", 2000)
		p.System = []anthropic.TextBlockParam{{Text: "Be short.", CacheControl: anthropic.NewCacheControlEphemeralParam()}}
		if thinks {
			p.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
		}
		want, err := c.Messages.New(t.Context(), p, cold)
		if err != nil {
			t.Fatal(err)
		}
		got, types := follow(t, p)
		w, g := blocks(want), blocks(&got)
		if len(w) == 0 || len(w) != len(g) || (want.Content[0].Type == "thinking") != thinks {
			t.Fatalf("whole %q, streamed %q", w, g)
		}
		for i := range w {
			if w[i] != g[i] {
				t.Errorf("block %d: whole %q, streamed %q", i, w[i], g[i])
			}
		}
		if want.StopReason != got.StopReason || want.Usage.OutputTokens != got.Usage.OutputTokens || read(want) != read(&got) || want.StopReason != "end_turn" {
			t.Errorf("whole %s %+v, streamed %s %+v", want.StopReason, want.Usage, got.StopReason, got.Usage)
		}
		if types[0] != "message_start" || types[len(types)-1] != "message_stop" || types[len(types)-2] != "message_delta" {
			t.Errorf("events %q", types)
		}
	}
}

// TestMessagesTools: a call that is asked for streams, and its result goes back with the SDK's own conversion.
func TestMessagesTools(t *testing.T) {
	schema := anthropic.ToolInputSchemaParam{Properties: weather.Parameters["properties"], Required: []string{"city", "days"}}
	p := coolly("What is the weather in Rome for 3 days?", 1000)
	p.Tools = []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(schema, "get_weather")}
	p.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: anthropic.Bool(true)}}
	m, _ := follow(t, p)
	if m.StopReason != "tool_use" {
		t.Fatalf("%s", m.RawJSON())
	}
	var use anthropic.ToolUseBlock
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			use = b.AsToolUse()
		}
	}
	var args struct {
		City string
		Days int
	}
	if err := json.Unmarshal(use.Input, &args); err != nil || args.City == "" || args.Days < 1 {
		t.Fatalf("input %s: %v", use.Input, err)
	}
	p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
	p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(use.ID, "Sunny.", false)))
	again, err := anthropicClientPtr().Messages.New(t.Context(), p, cold)
	if err != nil {
		t.Fatal(err)
	}
	if again.StopReason != "end_turn" && again.StopReason != "max_tokens" {
		t.Errorf("%s", again.RawJSON())
	}
}

func anthropicClientPtr() *anthropic.Client {
	c := anthropicClient()
	return &c
}

func TestStopSequence(t *testing.T) {
	c := anthropicClient()
	p := coolly("Hello", 300)
	whole, err := c.Messages.New(t.Context(), p, cold)
	if err != nil || len(whole.Content) == 0 || len(whole.Content[0].Text) < 6 {
		t.Fatalf("%v %+v", err, whole)
	}
	text := whole.Content[0].Text
	p.StopSequences = []string{text[3:6]}
	got, err := c.Messages.New(t.Context(), p, cold)
	if err != nil {
		t.Fatal(err)
	}
	if got.StopReason != "stop_sequence" || got.StopSequence != text[3:6] || got.Content[0].Text != text[:3] {
		t.Errorf("%s", got.RawJSON())
	}
	p = coolly("Hello", 2)
	if got, err = c.Messages.New(t.Context(), p, cold); err != nil || got.StopReason != "max_tokens" {
		t.Errorf("%v %+v", err, got)
	}
}

func TestCountTokensAndErrors(t *testing.T) {
	c := anthropicClient()
	n, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "nano", Messages: say("Hello")})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Messages.New(t.Context(), coolly("Hello", 1))
	if err != nil || read(m) != n.InputTokens {
		t.Errorf("counted %d, used %+v, %v", n.InputTokens, m, err)
	}
	var api *anthropic.Error
	p := coolly("Hello", 1)
	p.Model = "claude"
	if _, err := c.Messages.New(t.Context(), p); !errors.As(err, &api) || api.StatusCode != 404 || api.RequestID == "" {
		t.Errorf("another model: %v", err)
	}
	list, err := c.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(list.Data) != 1 || list.Data[0].ID != "nano" {
		t.Errorf("models: %v %+v", err, list)
	}
}
