package chat

// DeltaKind says what a Delta is a piece of.
type DeltaKind uint8

// The kinds of deltas.
const (
	Reasoning DeltaKind = iota // a piece of the model's thinking
	Content                    // a piece of the answer
	ToolStart                  // a tool call begins: Tool and Name
	ToolArgs                   // a piece of its arguments, JSON text
	ToolEnd                    // its arguments are whole
)

// String names the kind.
func (k DeltaKind) String() string {
	return [...]string{"reasoning", "content", "tool_start", "tool_args", "tool_end"}[k]
}

// Delta is a piece of an answer. Text is never empty for Reasoning, Content and ToolArgs, and always whole UTF-8.
type Delta struct {
	Kind DeltaKind
	Text string
	Tool int    // index of the call, for the tool kinds
	Name string // of the function, for ToolStart
}
