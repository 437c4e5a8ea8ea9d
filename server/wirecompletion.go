package server

import (
	"encoding/json"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/server/sse"
)

// completionWire writes text_completion objects, whole or as events of the same shape.
type completionWire struct {
	job     *textJob
	choices []textState
	reports []*intake.Report
}

// textState is how far one choice has come.
type textState struct {
	echoed bool // the prompt was given out, or is not to be
	scored []sample.Token
	rater  *textRater // nil: no logprobs were asked for
}

func newCompletionWire(j *textJob) *completionWire {
	w := &completionWire{job: j, choices: make([]textState, len(j.choices)), reports: make([]*intake.Report, len(j.choices))}
	for i := range w.choices {
		w.choices[i].echoed = !j.echo
		if j.choices[i].Logprobs {
			w.choices[i].rater = newTextRater(j.model.Tokenizer)
		}
	}
	return w
}

type textCompletion struct {
	chatHead
	Choices   []textChoice    `json:"choices"`
	Usage     json.RawMessage `json:"usage,omitempty"`
	Flashlane *details        `json:"flashlane,omitempty"`
}

type textChoice struct {
	Text     string        `json:"text"`
	Index    int           `json:"index"`
	Logprobs *textLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

func (w *completionWire) piece(choice int, text string, probs *textLogprobs, finish *string) textCompletion {
	c := textCompletion{chatHead: w.job.head("text_completion"), Choices: []textChoice{{Text: text, Index: choice, Logprobs: probs, Finish: finish}}}
	if w.job.stream && w.job.usage {
		c.Usage = jsonNull
	}
	return c
}

// begin has nothing to say, but the client is to know that work has begun.
func (w *completionWire) begin(out *sse.Writer) { out.Comment("accepted") }

func (w *completionWire) alive(out *sse.Writer, progress string) {
	out.Comment("keep-alive" + progress)
}

// next is what an event adds to a choice: text, and logprobs if they were asked for.
func (w *completionWire) next(choice int, e intake.Event) (text string, probs *textLogprobs) {
	state := &w.choices[choice]
	if e.Kind == intake.Scored {
		state.scored = append(state.scored, e.Tokens...)
		return "", nil
	}
	text = w.echo(choice)
	generated := ""
	for _, d := range e.Deltas {
		if d.Kind == chat.Content {
			generated += d.Text
		}
	}
	if state.rater != nil {
		probs = state.rater.push(e.Tokens, generated)
	}
	return text + generated, probs
}

// echo is the prompt's text, the first time.
func (w *completionWire) echo(choice int) string {
	state, ids := &w.choices[choice], w.job.choices[choice].Prompt
	if state.echoed {
		return ""
	}
	state.echoed = true
	if state.rater != nil {
		state.rater.prompt(ids, state.scored)
		state.scored = nil
	}
	return w.job.model.Tokenizer.Decode(ids, false)
}

// end is what the end of a choice adds.
func (w *completionWire) end(choice int, r *intake.Report) (text string, probs *textLogprobs) {
	w.reports[choice] = r
	text = w.echo(choice)
	if rater := w.choices[choice].rater; rater != nil {
		probs = rater.end(r.StopString != "")
	}
	return text, probs
}

func (w *completionWire) event(out *sse.Writer, choice int, e intake.Event) {
	text, probs := w.next(choice, e)
	if text != "" || probs.some() {
		out.Data(w.piece(choice, text, probs, nil))
	}
}

func (w *completionWire) done(out *sse.Writer, choice int, r *intake.Report, last bool) {
	text, probs := w.end(choice, r)
	if text != "" || probs.some() {
		out.Data(w.piece(choice, text, probs, nil))
	}
	finish := string(r.Finish)
	c := w.piece(choice, "", nil, &finish)
	if !last {
		out.Data(c)
		return
	}
	if w.job.usage {
		out.Data(c)
		c = textCompletion{chatHead: c.chatHead, Choices: []textChoice{}, Usage: marshalled(usageOf(w.job.job, w.reports))}
	}
	c.Flashlane = detailsOf(w.job.job, w.reports)
	out.Data(c)
	out.Text("[DONE]")
}

func (w *completionWire) fail(out *sse.Writer, e *apiError) {
	out.Data(e.body())
	out.Text("[DONE]")
}

func (w *completionWire) whole(all []*collected) any {
	answer := textCompletion{chatHead: w.job.head("text_completion")}
	for i, a := range all {
		w.choices[i].scored = a.scored
		text := w.echo(i) + a.content.String()
		var probs *textLogprobs
		if rater := w.choices[i].rater; rater != nil {
			probs = rater.push(a.tokens, a.content.String())
		}
		if _, rest := w.end(i, a.report); rest != nil {
			probs.add(rest)
		}
		finish := string(a.report.Finish)
		answer.Choices = append(answer.Choices, textChoice{Text: text, Index: i, Logprobs: probs, Finish: &finish})
	}
	answer.Usage, answer.Flashlane = marshalled(usageOf(w.job.job, w.reports)), detailsOf(w.job.job, w.reports)
	return answer
}
