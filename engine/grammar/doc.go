// Package grammar keeps what a model writes inside a language: JSON that fits a schema, any JSON object, or tool calls in the model's own
// tags. It answers one question, which ids may come next, as a bitset for sample.SampleAllowed and verify.Row.Allow.
//
// # Parts
//
//	Compile, JSONObject, ToolCalls -> Grammar          what may be written; immutable, one per schema
//	NewVocab(tokenizer)            -> Vocab            a trie over the tokens' bytes; immutable, one per model
//	Vocab.Bind(Grammar, stop ids)  -> Bound            masks for this pair, cached; safe for concurrent use
//	NewSession, Bound.Start        -> Session, Matcher one request's place in the grammar; one goroutine at a time
//
// A [Session] holds the place after the committed tokens. [Session.Allow] gives the masks of a verify pass: row j's is that of the place after the
// drafts of the rows before it. The drafter takes [Session.Matcher], a clone, and goes on with it draft by draft. Rolling back is forgetting the clone.
//
// # Guarantee
//
// Whatever ids are chosen among those allowed, the text is a beginning of a document of the grammar, some id is always allowed, and stop ids are allowed
// exactly when the document is complete. So an invalid document can only come from cutting it off. No id leads to a dead end, because
// a value is begun only where the nesting left is enough to end it; numbers with bounds run on an automaton without dead states.
//
// # JSON Schema
//
// Honoured: type (a name or a list), properties, required, additionalProperties, enum, const, items, minItems, maxItems, minLength, maxLength (code
// points), minimum, maximum, exclusiveMinimum, exclusiveMaximum (exact, for integers and for numbers), anyOf, $ref within the document with recursion, $defs and
// definitions, and the schemas true and false. oneOf is honoured when its branches provably exclude each other, by type or by the constants of a required property;
// else it is refused. Annotations are ignored: title, description, default, examples, deprecated, readOnly, writeOnly, strict, $schema, $id, $comment.
// Everything else is refused with a [SchemaError] that names keyword and place; [Options.Loose] ignores it instead, for schemas that are only a hint.
//
// Some valid documents are left out on purpose:
//
//   - properties come in the order of the schema, then those that additionalProperties admits (their names spelled with short escapes only);
//   - when a schema lists properties and does not mention additionalProperties, only the listed ones are written ([Options.Open] changes that);
//   - a schema without type takes the types that its keywords speak of; without any, every value;
//   - integers have neither fraction nor exponent and, where no bound says more, fit int64; numbers have at most 19 digits before the
//     point (more if a bound has), about as many behind, and an exponent of at most two digits, none if there are bounds; there is no -0;
//   - names, enums and constants have one spelling, the shortest; numbers among them are plain decimals;
//   - white space is one space after ':' or ',' or inside brackets, or there a newline and at most 64 spaces or 16 tabs, never before ':' or ',';
//   - at most [Options.MaxDepth] arrays and objects are open at once.
//
// Text in strings is always UTF-8, even where a character is split across tokens; surrogates come in pairs.
//
// # Tool calls
//
// [ToolCalls] is the form that the chat templates write: string arguments are raw text, the rest JSON; [ParameterTypes] tells which is which, by the rule that engine/chat reads
// them with. No argument holds "</parameter>" (in JSON its slash can be escaped), and text of a parameter that admits other types as well does not begin like a value of those where
// the schema might then refuse it. Tags that the tokenizer has as added tokens are those tokens; else they are spelled, and then the text of an argument that itself spells
// the end of a call can be misread. No other added token is ever allowed. [Grammar.Thinking] puts a grammar behind the end of the model's reasoning.
// A [Budget] forces that end after so many tokens, beside a grammar or alone.
//
// # Cost
//
// A mask is a union over the automaton's states of masks that do not depend on what lies below on the stack, found once per state by a
// walk through the trie, and of the few tokens that leave a state half-way. Ambiguity (anyOf) is followed in parallel on a graph-structured stack.
package grammar
