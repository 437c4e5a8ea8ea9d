package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func openaiClient() openai.Client {
	return openai.NewClient(option.WithBaseURL(flash.url+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func ask(text string) []openai.ChatCompletionMessageParamUnion {
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}
}

func greedy(text string, most int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "nano", Messages: ask(text), Temperature: openai.Float(0), Seed: openai.Int(1), MaxCompletionTokens: openai.Int(most)}
}

func TestChat(t *testing.T) {
	c := openaiClient()
	got, err := c.Chat.Completions.New(t.Context(), greedy("Hello", 200))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Choices) != 1 || got.Choices[0].Message.Content == "" || got.Choices[0].FinishReason != "stop" || got.Usage.TotalTokens != got.Usage.PromptTokens+got.Usage.CompletionTokens {
		t.Errorf("%s", got.RawJSON())
	}
	if extra := got.Choices[0].Message.JSON.ExtraFields["reasoning_content"]; extra.Raw() == "" {
		t.Errorf("no reasoning_content in %s", got.Choices[0].Message.RawJSON())
	}
}

// TestChatStream: what the SDK's accumulator has in the end is the whole answer.
func TestChatStream(t *testing.T) {
	c := openaiClient()
	p := greedy("Write a short Go function.", 200)
	want, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), p)
	acc := openai.ChatCompletionAccumulator{}
	chunks := 0
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("the accumulator refuses %s", stream.Current().RawJSON())
		}
		chunks++
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if acc.Choices[0].Message.Content != want.Choices[0].Message.Content || acc.Choices[0].FinishReason != want.Choices[0].FinishReason ||
		acc.Usage.CompletionTokens != want.Usage.CompletionTokens || chunks < 5 {
		t.Errorf("%d chunks came to %+v, want %s", chunks, acc.Choices[0], want.RawJSON())
	}
}

func TestChoicesAndSeed(t *testing.T) {
	c := openaiClient()
	p := openai.ChatCompletionNewParams{Model: "nano", Messages: ask("Say something."), Seed: openai.Int(5), N: openai.Int(3), MaxCompletionTokens: openai.Int(60),
		Temperature: openai.Float(1.5)}
	texts := func() (out []string) {
		got, err := c.Chat.Completions.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i, choice := range got.Choices {
			if choice.Index != int64(i) {
				t.Errorf("choice %d has the index %d", i, choice.Index)
			}
			out = append(out, choice.Message.JSON.ExtraFields["reasoning_content"].Raw()+choice.Message.Content)
		}
		return out
	}
	first, again := texts(), texts()
	if len(first) != 3 || strings.Join(first, "|") != strings.Join(again, "|") {
		t.Errorf("the same seed gave %q and %q", first, again)
	}
	if first[0] == first[1] && first[1] == first[2] {
		t.Errorf("three choices at temperature 1.5 are the same: %q", first[0])
	}
	p.N = openai.Int(1)
	if alone := texts(); alone[0] != first[0] {
		t.Errorf("choice 0 alone is %q, among three %q", alone[0], first[0])
	}
}

// TestLogprobs: the model's own, the same with and without drafting, top entries in order.
func TestLogprobs(t *testing.T) {
	c := openaiClient()
	p := openai.ChatCompletionNewParams{Model: "nano", Messages: ask("Hello"), Seed: openai.Int(5), MaxCompletionTokens: openai.Int(40), Temperature: openai.Float(1),
		Logprobs: openai.Bool(true), TopLogprobs: openai.Int(5)}
	var raws []string
	for _, depth := range []int{0, 3, 7} {
		got, err := c.Chat.Completions.New(t.Context(), p, option.WithJSONSet("depth", depth))
		if err != nil {
			t.Fatal(err)
		}
		list := got.Choices[0].Logprobs.Content
		if len(list) == 0 || int64(len(list)) > got.Usage.CompletionTokens {
			t.Fatalf("%d entries for %d tokens", len(list), got.Usage.CompletionTokens)
		}
		for _, e := range list {
			if e.Logprob > 0 || len(e.TopLogprobs) != 5 || string(bytesOf(e.Bytes)) != e.Token && !strings.Contains(e.Token, "\uFFFD") {
				t.Errorf("entry %s", e.RawJSON())
			}
			for i := 1; i < 5; i++ {
				if e.TopLogprobs[i].Logprob > e.TopLogprobs[i-1].Logprob {
					t.Errorf("top entries out of order: %s", e.RawJSON())
				}
			}
		}
		raws = append(raws, got.Choices[0].Logprobs.RawJSON())
	}
	if raws[0] != raws[1] || raws[1] != raws[2] {
		t.Error("logprobs depend on the depth of drafting")
	}
}

func bytesOf(list []int64) (out []byte) {
	for _, b := range list {
		out = append(out, byte(b))
	}
	return out
}

// TestScoring: the logprobs of a greedy answer, rated as a prompt, are those it was generated with.
func TestScoring(t *testing.T) {
	c := openaiClient()
	p := openai.CompletionNewParams{Model: "nano", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("package main\n")}, Temperature: openai.Float(0),
		MaxTokens: openai.Int(20), Logprobs: openai.Int(0), Echo: openai.Bool(true)}
	made, err := c.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	l := made.Choices[0].Logprobs
	p.Prompt = openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{made.Choices[0].Text, "other"}}
	p.MaxTokens = openai.Int(0)
	rated, err := c.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(rated.Choices) != 2 || rated.Choices[0].Text != made.Choices[0].Text || rated.Choices[1].Text != "other" || rated.Usage.CompletionTokens != 0 {
		t.Fatalf("%s", rated.RawJSON())
	}
	r := rated.Choices[0].Logprobs
	if strings.Join(r.Tokens, "|") != strings.Join(l.Tokens, "|") {
		t.Fatalf("the text is tokenised another way than it was made: %q, %q", r.Tokens, l.Tokens)
	}
	for i := 1; i < len(r.TokenLogprobs); i++ {
		if math.Abs(r.TokenLogprobs[i]-l.TokenLogprobs[i]) > 1e-9 {
			t.Errorf("token %d %q: rated %v, made with %v", i, r.Tokens[i], r.TokenLogprobs[i], l.TokenLogprobs[i])
		}
	}
}

var weather = shared.FunctionDefinitionParam{Name: "get_weather", Description: openai.String("The weather in a city"), Parameters: shared.FunctionParameters{
	"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "enum": []string{"Bern", "Rome"}}, "days": map[string]any{"type": "integer", "minimum": 1, "maximum": 5}},
	"required": []string{"city", "days"}, "additionalProperties": false}}

// TestToolsRoundTrip: a required call streams, parses, and its result goes back.
func TestToolsRoundTrip(t *testing.T) {
	c := openaiClient()
	p := greedy("What is the weather in Rome for 3 days?", 400)
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(weather)}
	p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	p.ParallelToolCalls = openai.Bool(false)
	stream := c.Chat.Completions.NewStreaming(t.Context(), p)
	acc := openai.ChatCompletionAccumulator{}
	finished := 0
	for stream.Next() {
		acc.AddChunk(stream.Current())
		if _, ok := acc.JustFinishedToolCall(); ok {
			finished++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	calls := acc.Choices[0].Message.ToolCalls
	if len(calls) != 1 || acc.Choices[0].FinishReason != "tool_calls" || calls[0].Function.Name != "get_weather" {
		t.Fatalf("%+v", acc.Choices[0])
	}
	var args struct {
		City string
		Days int
	}
	if err := json.Unmarshal([]byte(calls[0].Function.Arguments), &args); err != nil || args.Days < 1 || args.Days > 5 || (args.City != "Bern" && args.City != "Rome") {
		t.Fatalf("arguments %s: %v", calls[0].Function.Arguments, err)
	}
	p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("none")}
	p.Messages = append(p.Messages, acc.Choices[0].Message.ToParam(), openai.ToolMessage("Sunny, 25 degrees.", calls[0].ID))
	got, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Choices[0].Message.ToolCalls) != 0 || got.Choices[0].Message.Content == "" && got.Choices[0].FinishReason != "length" {
		t.Errorf("%s", got.RawJSON())
	}
}

// TestOneCall: a free answer with parallel_tool_calls false ends with its first call, whole.
func TestOneCall(t *testing.T) {
	c := openaiClient()
	p := greedy("What is the weather in Rome?", 400)
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather",
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}})}
	p.ParallelToolCalls = openai.Bool(false)
	got, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Choices[0].Message.ToolCalls
	if len(calls) != 1 || got.Choices[0].FinishReason != "tool_calls" || !json.Valid([]byte(calls[0].Function.Arguments)) {
		t.Errorf("%s", got.RawJSON())
	}
}

// TestStructuredOutput: at high temperatures, thinking or not, drafting or not, the document is one of the schema.
func TestStructuredOutput(t *testing.T) {
	c := openaiClient()
	schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "maxLength": 12}, "age": map[string]any{"type": "integer", "minimum": 0, "maximum": 150},
		"tags": map[string]any{"type": "array", "items": map[string]any{"enum": []string{"a", "b"}}, "maxItems": 3}}, "required": []string{"name", "age", "tags"}, "additionalProperties": false}
	for _, thinking := range []bool{false, true} {
		for seed := range int64(4) {
			p := openai.ChatCompletionNewParams{Model: "nano", Messages: ask("A person, as JSON."), Seed: openai.Int(seed), Temperature: openai.Float(1.8), MaxCompletionTokens: openai.Int(800),
				ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
					Name: "person", Strict: openai.Bool(true), Schema: schema}}}}
			texts := map[string]bool{}
			for _, depth := range []int{0, 3} {
				got, err := c.Chat.Completions.New(t.Context(), p, option.WithJSONSet("enable_thinking", thinking), option.WithJSONSet("depth", depth))
				if err != nil {
					t.Fatal(err)
				}
				text := got.Choices[0].Message.Content
				texts[text] = true
				if got.Choices[0].FinishReason == "length" {
					continue
				}
				var person struct {
					Name *string
					Age  *int
					Tags []string
				}
				dec := json.NewDecoder(strings.NewReader(text))
				dec.DisallowUnknownFields()
				if err := dec.Decode(&person); err != nil || person.Name == nil || len([]rune(*person.Name)) > 12 || person.Age == nil || *person.Age > 150 || len(person.Tags) > 3 {
					t.Errorf("seed %d, thinking %v, depth %d: %q: %v", seed, thinking, depth, text, err)
				}
			}
			if len(texts) != 1 {
				t.Errorf("seed %d: the text depends on the depth: %v", seed, texts)
			}
		}
	}
}

// TestDisconnect: a client that leaves in mid-stream frees its slots, those of all choices, and the log says who left.
func TestDisconnect(t *testing.T) {
	c := openaiClient()
	for _, n := range []int64{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		p := openai.ChatCompletionNewParams{Model: "nano", Messages: ask("Count for ever."), MaxCompletionTokens: openai.Int(3000), Temperature: openai.Float(2), N: openai.Int(n),
			LogitBias: map[string]int64{"8185": -100}}
		stream := c.Chat.Completions.NewStreaming(ctx, p)
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		id := stream.Current().ID
		cancel()
		for stream.Next() {
		}
		stream.Close()
		if line, ok := flash.log.find(10*time.Second, id, "client disconnected"); !ok {
			t.Errorf("the log does not say that %s left: %s", id, line)
		}
		flash.idle(t)
	}
}

func TestRefusalsAsTheClientSeesThem(t *testing.T) {
	c := openaiClient()
	_, err := c.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "gpt-5", Messages: ask("hi")})
	var api *openai.Error
	if !errors.As(err, &api) || api.StatusCode != 404 || api.Code != "model_not_found" {
		t.Errorf("another model: %v", err)
	}
	p := greedy("hi", 5)
	p.Store = openai.Bool(true)
	if _, err := c.Chat.Completions.New(t.Context(), p); !errors.As(err, &api) || api.StatusCode != 400 || api.Param != "store" {
		t.Errorf("store: %v", err)
	}
}

func TestModels(t *testing.T) {
	c := openaiClient()
	page, err := c.Models.List(t.Context())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "nano" || page.Data[0].JSON.ExtraFields["context_length"].Raw() == "" {
		t.Errorf("%v %+v", err, page)
	}
}
