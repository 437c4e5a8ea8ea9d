package verify

import (
	"errors"
	"fmt"
)

// Rule is how drafts are judged.
type Rule uint8

const (
	// Coupled emits the sampler's own tokens and accepts drafts that equal them. The text does not depend on the drafts.
	Coupled Rule = iota
	// Residual accepts with probability min(1, p/q) and samples the residual otherwise. The law of the text does not depend on the drafts.
	Residual
)

// ErrRule is wrapped by ParseRule for a name that is not a rule.
var ErrRule = errors.New("unknown acceptance rule")

// ParseRule reads "coupled" or "residual".
func ParseRule(name string) (Rule, error) {
	switch name {
	case "coupled":
		return Coupled, nil
	case "residual":
		return Residual, nil
	}
	return 0, fmt.Errorf("verify: %w: got %q, want coupled or residual", ErrRule, name)
}

// String is the name that ParseRule reads.
func (r Rule) String() string {
	switch r {
	case Coupled:
		return "coupled"
	case Residual:
		return "residual"
	}
	return fmt.Sprintf("rule(%d)", uint8(r))
}

// Reason says why the request ends with this round, if it does.
type Reason uint8

const (
	// ReasonNone: the request goes on.
	ReasonNone Reason = iota
	// ReasonStop: the last token is a stop id.
	ReasonStop
	// ReasonLength: the token limit is reached, and the last token is not a stop id.
	ReasonLength
)

// String is the reason as a finish reason on the wire; empty for ReasonNone.
func (r Reason) String() string {
	switch r {
	case ReasonStop:
		return "stop"
	case ReasonLength:
		return "length"
	}
	return ""
}
