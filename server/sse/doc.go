// Package sse writes server-sent events: each event is encoded once into a reused buffer, and everything that belongs
// together goes out in one write and one flush.
//
// A Writer is used by one goroutine (the handler's). It has no clock of its own: when to send a comment, so that no proxy
// takes silence for death, is the caller's decision. A client that does not read is an error after a time limit.
package sse
