package grammar

import (
	"errors"
	"fmt"
)

var (
	// ErrUnsupported marks a schema that asks for what this package does not do.
	ErrUnsupported = errors.New("unsupported")
	// ErrSchema marks a schema or a tool that is malformed.
	ErrSchema = errors.New("malformed")
	// ErrUnsatisfiable marks a schema that no finite document can fit, a $ref that leads to itself included.
	ErrUnsatisfiable = errors.New("unsatisfiable")
	// ErrLimit marks a schema beyond a limit of this package.
	ErrLimit = errors.New("too large")
	// ErrVocab marks a vocabulary that cannot write every document of a grammar.
	ErrVocab = errors.New("unfit vocabulary")
	// ErrToken is wrapped when a committed id is not allowed at its place.
	ErrToken = errors.New("token is not allowed by the grammar")
)

// SchemaError says what in a schema cannot be used. It is the client's error: a server answers 400 with this text.
type SchemaError struct {
	Keyword string // the keyword at fault, "" if it is the schema as a whole
	Pointer string // JSON pointer of the schema that holds it, "" for the root
	Tool    string // the tool whose parameters these are, "" outside of tools
	Reason  string
	Kind    error // ErrUnsupported, ErrSchema, ErrUnsatisfiable or ErrLimit
}

// Error names keyword, place and reason.
func (e *SchemaError) Error() string {
	what := "schema"
	if e.Keyword != "" {
		what = fmt.Sprintf("keyword %q", e.Keyword)
	}
	if e.Tool != "" {
		what = fmt.Sprintf("tool %q: %s", e.Tool, what)
	}
	return fmt.Sprintf("grammar: %s at %q: %v: %s", what, "#"+e.Pointer, e.Kind, e.Reason)
}

// Unwrap gives Kind.
func (e *SchemaError) Unwrap() error { return e.Kind }
