// Package server is flashlane's HTTP face: OpenAI and Anthropic wires, health, metrics, lanes, actors, the event stream and the web
// page, on echo.
//
// A request's way through it: security (API keys, or Host and Origin on a keyless loopback; limits per key) -> strict decoding
// (server/body) by the route's own decoder -> a job: one intake.Request per choice with everything resolved (prompt ids, sampling,
// seed, grammar) -> Engine.Submit for each -> the events of all choices in one order (source, feed), turned by the job's wire into one
// JSON answer or into server-sent events (server/sse). A client that leaves, a stalled reader, a request without any progress, a
// choice that fails, a panic in a handler and the end of the server all end in Engine.Cancel for what still runs.
//
// Main types: Engine and Model are what the rest of flashlane gives it; Server holds the routes and runs them; job is what one HTTP
// request asks for; conversation is what every chat wire reads its body into, and the only thing that meets the chat template;
// wire is one protocol's way to write an answer (chat, completion, responses, anthropic); Grammars compiles what answers are held
// to; Replay is the part of an answer from which `flashlane replay` runs it again.
//
// It does not touch engine state and runs no maths. Health and metrics call nothing that waits.
package server
