package server

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/server/body"
)

// maxGrammars is how many compiled grammars are kept. Each may hold some megabytes of masks.
const maxGrammars = 16

// Grammars compiles what answers are held to and keeps the latest of it. It is safe for concurrent use; one per model.
type Grammars struct {
	vocab func() (*grammar.Vocab, error) // made at the first use
	stop  []int32

	mu     sync.Mutex
	bounds map[[sha256.Size]byte]*grammar.Bound
	order  [][sha256.Size]byte // least recently used first
}

// NewGrammars returns the grammars of a vocabulary with size rows of logits. stop are the pack's own stop ids: an answer
// may end by these only where its document is complete.
func NewGrammars(tokens grammar.Tokens, size int, stop []int32) *Grammars {
	return &Grammars{stop: stop, bounds: map[[sha256.Size]byte]*grammar.Bound{},
		vocab: sync.OnceValues(func() (*grammar.Vocab, error) { return grammar.NewVocab(tokens, size) })}
}

// The kinds of constraints.
const (
	kindObject = "json_object"
	kindSchema = "json_schema"
	kindCalls  = "tool_calls"
)

// constraint is what an answer is held to, in a form that a saved answer repeats.
type constraint struct {
	Kind     string          `json:"kind"`
	Schema   json.RawMessage `json:"schema,omitempty"`   // of json_schema
	Only     string          `json:"only,omitempty"`     // of tool_calls: the one function
	Max      int             `json:"max,omitempty"`      // of tool_calls: most calls, 0 is any number
	Text     bool            `json:"text,omitempty"`     // of tool_calls: text may come instead, or first
	Thinking bool            `json:"thinking,omitempty"` // it begins after the reasoning

	param string // the field that asked for it
}

// bind gives the constraint's grammar, bound to the vocabulary. tools are the request's, in OpenAI's form. Nobody waits for the
// compiling of another's schema; two that come with the same one at once may both compile it.
func (g *Grammars) bind(c *constraint, tools json.RawMessage) (*grammar.Bound, error) {
	key := sha256.Sum256(append(append(marshalled(c), 0), tools...))
	if b := g.keep(key, nil); b != nil {
		return b, nil
	}
	compiled, err := c.compile(tools)
	if err != nil {
		return nil, err
	}
	v, err := g.vocab()
	if err != nil {
		return nil, err
	}
	b, err := v.Bind(compiled, g.stop)
	if err != nil {
		return nil, err
	}
	return g.keep(key, b), nil
}

// keep gives what is kept under key, or keeps b, if it is not nil, and gives that.
func (g *Grammars) keep(key [sha256.Size]byte, b *grammar.Bound) *grammar.Bound {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kept, ok := g.bounds[key]; ok {
		b = kept
	}
	if b == nil {
		return nil
	}
	g.bounds[key] = b
	g.touch(key)
	if len(g.order) > maxGrammars {
		delete(g.bounds, g.order[0])
		g.order = g.order[1:]
	}
	return b
}

// touch makes key the most recently used.
func (g *Grammars) touch(key [sha256.Size]byte) {
	for i, k := range g.order {
		if k == key {
			g.order = append(g.order[:i], g.order[i+1:]...)
			break
		}
	}
	g.order = append(g.order, key)
}

func (c *constraint) compile(tools json.RawMessage) (out *grammar.Grammar, err error) {
	switch c.Kind {
	case kindObject:
		out, err = grammar.JSONObject(grammar.Options{})
	case kindSchema:
		out, err = grammar.Compile(c.Schema, grammar.Options{})
	case kindCalls:
		var list []grammar.Tool
		if list, err = c.tools(tools); err == nil {
			out, err = grammar.ToolCalls(list, grammar.ToolOptions{Max: c.Max, Text: c.Text})
		}
	default:
		err = fmt.Errorf("server: constraint of kind %q", c.Kind)
	}
	if err == nil && c.Thinking {
		out = out.Thinking()
	}
	return out, err
}

// tools are those that may be called.
func (c *constraint) tools(raw json.RawMessage) (out []grammar.Tool, err error) {
	var list []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
			Strict     bool
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("server: tools: %w", err)
	}
	for _, t := range list {
		if f := t.Function; c.Only == "" || f.Name == c.Only {
			out = append(out, grammar.Tool{Name: f.Name, Parameters: f.Parameters, Loose: !f.Strict})
		}
	}
	return out, nil
}

// refused turns a schema's fault into the client's.
func (c *constraint) refused(err error) error {
	var se *grammar.SchemaError
	if !errors.As(err, &se) {
		return fmt.Errorf("server: grammar of %s: %w", c.param, err)
	}
	code := body.CodeInvalidValue
	if errors.Is(err, grammar.ErrUnsupported) {
		code = body.CodeUnsupported
	}
	return body.Errorf(c.param, code, "cannot be held to: %s", strings.TrimPrefix(se.Error(), "grammar: "))
}
