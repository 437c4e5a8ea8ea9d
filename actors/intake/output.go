package intake

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
)

// Errors a submission or a running request may end with (wrapped); callers branch on them.
var (
	ErrBusy      = errors.New("intake: queue is full")               // 429
	ErrClosing   = errors.New("intake: server is shutting down")     // 503
	ErrTooLong   = errors.New("intake: prompt does not fit context") // 400
	ErrMemory    = errors.New("intake: not enough memory")           // 507
	ErrCancelled = errors.New("intake: request was cancelled")       // 499 / stream end
	ErrCrashed   = errors.New("intake: request crashed repeatedly")  // 500
	ErrTable     = errors.New("intake: n-gram table cannot be read") // 500; wraps a *ple.ReadError
	ErrNumeric   = errors.New("intake: model gave a non-finite row") // 500
	ErrInternal  = errors.New("intake: internal error")              // 500
)

// EventKind tells the events of an Output apart.
type EventKind uint8

// The events of a request, in order: Accepted, then any number of Progress and Scored, then Delta, then Done or Failed.
const (
	Accepted EventKind = iota // admitted; work starts now
	Progress                  // prefill moved: Event.Prefilled of Event.PromptTokens
	Scored                    // Tokens are the prompt's from its second on, each as the model rated it (Request.Score)
	Delta                     // text and tokens of one round
	Done                      // Event.Report is set; the last event
	Failed                    // Event.Err is set; the last event
)

// Event is one thing a client may be told.
type Event struct {
	Kind         EventKind
	Deltas       []chat.Delta   // Delta: text by kind, possibly empty when text is held back
	Tokens       []sample.Token // Delta: the tokens of this round, with logprobs if asked
	Prefilled    int            // Progress: prompt tokens done
	PromptTokens int            // Progress
	Report       *Report        // Done
	Err          error          // Failed
}

// Finish says why a request ended.
type Finish string

// The finish reasons.
const (
	FinishStop      Finish = "stop"       // a stop id or stop string
	FinishLength    Finish = "length"     // token or context limit
	FinishToolCalls Finish = "tool_calls" // ended by itself after at least one complete tool call
)

// LaneUse is how often a lane served a request's windows.
type LaneUse struct {
	Windows  int `json:"windows"`
	FailOver int `json:"fail_over"`
}

// Report is what is known about a finished request.
type Report struct {
	ID               string
	Finish           Finish
	StopString       string // the stop string that matched, if any
	OpenToolCall     bool   // the limit cut a tool call
	PromptTokens     int
	CachedTokens     int // of them, restored from a snapshot
	CompletionTokens int
	ReasoningTokens  int
	AcceptedDrafts   int // drafts that were emitted
	RejectedDrafts   int // drafts that were not
	Rounds           int
	Depth            int
	Rule             string
	Seed             uint64
	SeedGiven        bool
	Restarts         int             // times the request was rebuilt after a crash
	Lanes            map[string]bool // lane -> in force in the last round
	LaneUse          map[string]LaneUse
	Queued           time.Duration
	Prefill          time.Duration
	FirstToken       time.Duration // from submission to the first token
	Decode           time.Duration // from the first to the last token
	ReasoningSHA     string        // hex SHA-256 of the reasoning text; "" when the text is empty
	TextSHA          string        // hex SHA-256 of content plus tool call text; "" when empty
	TokensSHA        string        // hex SHA-256 of the generated ids, little-endian int32
}

// Output is a request's event stream: one writer (its session), one reader. It never blocks the writer; what it can
// hold is bounded by the request's token limit.
type Output struct {
	mu     sync.Mutex
	events []Event
	ended  bool
	wake   chan struct{} // capacity 1
}

// NewOutput returns an empty stream.
func NewOutput() *Output { return &Output{wake: make(chan struct{}, 1)} }

// Push appends an event. Events after the last one (Done or Failed) are dropped.
func (o *Output) Push(e Event) {
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return
	}
	o.ended = e.Kind == Done || e.Kind == Failed
	o.events = append(o.events, e)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Next returns the next event, waiting for it; the error is the context's. After the last event it returns
// ErrEnded.
func (o *Output) Next(ctx context.Context) (Event, error) {
	for {
		o.mu.Lock()
		if len(o.events) > 0 {
			e := o.events[0]
			o.events[0] = Event{}
			o.events = o.events[1:]
			o.mu.Unlock()
			return e, nil
		}
		ended := o.ended
		o.mu.Unlock()
		if ended {
			return Event{}, ErrEnded
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// ErrEnded is returned by Output.Next after the last event was read.
var ErrEnded = errors.New("intake: output has ended")
