package intake

import (
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
)

// Request is one generation, ready to run: the prompt is tokenised, every option is resolved and validated. It is not
// changed after Submit.
type Request struct {
	ID        string // unique among live requests, shown to the client and in logs
	Prompt    []int32
	Sampling  sample.Params // seed already drawn
	MaxTokens int           // most tokens to generate; 0: up to the context limit
	StopIDs   []int32       // ids that end the answer, beside the pack's own
	Stop      []string      // stop strings, matched in content only
	OneCall   bool          // the answer ends with its first whole tool call
	Depth     int           // drafts per round, 0..7
	Rule      verify.Rule
	Parse     chat.ParserOptions // how the text is split; Stop is taken from the field above
	Grammar   *grammar.Bound     // what the answer must stay inside of; nil: nothing. A Bound may serve many requests
	Budget    *grammar.Budget    // of its reasoning; nil: none
	Logprobs  bool               // events carry a Token per generated token
	Score     bool               // a Scored event carries a Token per prompt token
	ScoreOnly bool               // nothing is generated: the request ends with the prompt's Scored event (needs Score)
	Key       string             // whose request it is: waiting requests of different keys take turns
	Label     string             // what the client calls it (user, metadata), for logs only
}
