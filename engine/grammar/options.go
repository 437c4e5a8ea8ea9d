package grammar

// Limits on what Compile takes, so that a hostile schema costs little.
const (
	maxSchemaBytes  = 1 << 20
	maxSchemaDepth  = 128   // of the schema itself, and of merges and references
	maxNodes        = 20000 // of the compiled grammar
	maxAlternatives = 256   // of one anyOf, those of nested ones included
	maxProperties   = 5000  // of one object
	maxLiteralBytes = 1 << 20
	maxDigits       = 40 // of a bound or a constant, before the point and behind it
)

// DefaultMaxDepth is how many arrays and objects may be open at once unless Options say otherwise; LimitMaxDepth is the most they may say.
const (
	DefaultMaxDepth = 64
	LimitMaxDepth   = 200
)

// Options of compiling a schema. The zero value is strict.
type Options struct {
	// MaxDepth bounds the arrays and objects open at once; 0 is DefaultMaxDepth.
	MaxDepth int
	// Loose ignores keywords that are not supported instead of refusing them.
	Loose bool
	// Open admits any further property where additionalProperties is absent, as JSON Schema does. Closed objects are valid, too, and what models do better with.
	Open bool
}

func (o Options) depth() (uint8, error) {
	switch {
	case o.MaxDepth == 0:
		return DefaultMaxDepth, nil
	case o.MaxDepth < 0 || o.MaxDepth > LimitMaxDepth:
		return 0, &SchemaError{Kind: ErrLimit, Reason: "MaxDepth must be from 1 to 200"}
	}
	return uint8(o.MaxDepth), nil
}
