package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/flashlane/flashlane/bench/client"
)

// Outcome is what became of one request. Times are in milliseconds.
type Outcome struct {
	TTFT   float64   // from when it was due (open loop) or sent (closed loop) to its first text; 0: there was none
	Late   float64   // sent after it was due: the load generator's own delay, part of TTFT
	Gaps   []float64 // between chunks that carry text
	Wall   float64
	Prompt int // tokens; those of failed requests are not counted
	Cached int
	Tokens int
	Rounds int
	Finish string // of those that ended well
	Error  string // kind of failure, "" for none
	Detail string
}

// ask sends one request. due is when it ought to have been sent.
func ask(ctx context.Context, c *client.Client, r *Request, due time.Time, onText func(time.Time)) Outcome {
	late := time.Since(due)
	a, err := c.Chat(ctx, &r.Ask, onText)
	o := Outcome{Late: ms(late), Wall: ms(late + a.End)}
	if len(a.Marks) > 0 {
		o.TTFT = ms(a.Sent.Sub(due) + a.TTFT())
		for i, m := range a.Marks[1:] {
			o.Gaps = append(o.Gaps, ms(m-a.Marks[i]))
		}
	}
	if err != nil {
		o.Error, o.Detail = kindOf(err), err.Error()
		return o
	}
	o.Prompt, o.Cached, o.Tokens, o.Rounds, o.Finish = a.Prompt, a.Cached, a.Completion, a.Rounds, a.Finish
	switch {
	case a.Prompt != r.Prompt:
		o.Error, o.Detail = "prompt length", fmt.Sprintf("the prompt was made to have %d tokens, the server counted %d", r.Prompt, a.Prompt)
	case a.Finish == "length" && a.Completion != r.Ask.MaxTokens, a.Completion > r.Ask.MaxTokens:
		o.Error, o.Detail = "answer length", fmt.Sprintf("%d tokens were asked for, %d came (finish %s)", r.Ask.MaxTokens, a.Completion, a.Finish)
	}
	return o
}

// kindOf groups errors for counting.
func kindOf(err error) string {
	var status *client.StatusError
	var timeout net.Error
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("status %d", status.Status)
	case errors.Is(err, client.ErrStream):
		return "stream"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "connection"
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
