// Package client is the measuring side of a conversation with a flashlane server: it sends chat requests, notes when every
// chunk that carries text arrived, and reads the counts, digests and timings at the end of the stream. It also switches
// lanes and reads health and metrics.
//
// It connects to this machine only: what a network adds is no property of the server. Times are taken when a line has been
// read, before it is parsed.
package client
