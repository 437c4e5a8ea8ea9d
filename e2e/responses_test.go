package e2e

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func input(text string) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}
}

// TestResponses: whole and streamed, the text and the order of events.
func TestResponses(t *testing.T) {
	c := openaiClient()
	p := responses.ResponseNewParams{Model: "nano", Input: input("Hello"), Instructions: openai.String("Be short."), Temperature: openai.Float(0), MaxOutputTokens: openai.Int(200), Store: openai.Bool(false)}
	want, err := c.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want.Status != "completed" || want.OutputText() == "" || want.Output[0].Type != "reasoning" || want.Usage.OutputTokensDetails.ReasoningTokens == 0 {
		t.Fatalf("%s", want.RawJSON())
	}
	stream := c.Responses.NewStreaming(t.Context(), p)
	text, sequence := "", int64(-1)
	var last responses.Response
	for stream.Next() {
		e := stream.Current()
		if e.SequenceNumber != sequence+1 {
			t.Errorf("event %s has the number %d after %d", e.Type, e.SequenceNumber, sequence)
		}
		sequence = e.SequenceNumber
		switch v := e.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += v.Delta
		case responses.ResponseCompletedEvent:
			last = v.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text != want.OutputText() || last.OutputText() != text {
		t.Errorf("streamed %q, completed %q, whole %q", text, last.OutputText(), want.OutputText())
	}
}

// TestResponsesTools: a call and its result, the whole conversation sent again.
func TestResponsesTools(t *testing.T) {
	c := openaiClient()
	p := responses.ResponseNewParams{Model: "nano", Temperature: openai.Float(0), MaxOutputTokens: openai.Int(400),
		Tools:      []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", map[string]any(weather.Parameters), true)},
		ToolChoice: responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsRequired)}, ParallelToolCalls: openai.Bool(false)}
	items := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Weather in Bern for 2 days?", "user")}
	p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
	got, err := c.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var call responses.ResponseFunctionToolCall
	for _, item := range got.Output {
		if item.Type == "function_call" {
			call = item.AsFunctionCall()
		}
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || args["city"] == nil {
		t.Fatalf("arguments %q: %v in %s", call.Arguments, err, got.RawJSON())
	}
	items = append(items, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name),
		responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(call.CallID),
			Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String("Rain.")}}})
	p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
	p.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsNone)}
	again, err := c.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if again.OutputText() == "" && again.Status != "incomplete" {
		t.Errorf("%s", again.RawJSON())
	}
}

func TestResponsesRefusesState(t *testing.T) {
	c := openaiClient()
	var api *openai.Error
	_, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "nano", Input: input("hi"), PreviousResponseID: openai.String("resp_1")})
	if !errors.As(err, &api) || api.StatusCode != 400 || api.Param != "previous_response_id" {
		t.Errorf("%v", err)
	}
}
