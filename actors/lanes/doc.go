// Package lanes owns the two decode lanes: which are armed, which are in force, and what they did (design, section 5).
//
// A lane changes when work is done and never a byte of the answer. [Resolve] reads the operator's switches once at start;
// [Board] is the one place where the state in force is published, to be read when a round starts; the actor turns SetLane
// messages into a new state, logs it and tells the event bus.
//
//   - owns: the wanted state of each lane
//   - receives: Set (server, through the engine's client)
//   - sends: SetReply to the asker; "lane" events
//   - fails: a restart keeps the board, so a crash loses at most the message that caused it, which is answered with an error
package lanes
