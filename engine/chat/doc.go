// Package chat is the pack's conversation format: messages to prompt text, and the model's text back to reasoning, content and tool
// calls.
//
// Flow: the server renders a request's messages with a Template and asks InThink whether the prompt already opened the reasoning;
// the session pushes each committed token's text through a Parser, which gives typed Deltas as soon as they are certain. Both are
// pure: no goroutines, no clock but the template's own strftime_now, no I/O.
//
// Main types: Template (one per pack), Parser (one per answer), Delta, ToolSchema, and RenderError, which is the client's fault.
//
// What the Parser promises:
//   - the deltas joined by kind do not depend on how the text was cut into pushes;
//   - no part of a tag or of a stop string is ever given out, and nothing behind a stop string is;
//   - tags that are quoted or stand in code end nothing, and neither do look-alikes inside tool arguments;
//   - the ToolArgs of a call join to one valid JSON object when its ToolEnd comes; a call that was cut has no ToolEnd, and Open
//     says so;
//   - a block that is no tool call comes back as content.
package chat
