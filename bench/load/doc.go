// Package load puts many clients on a server and tells what they met: time to first text, gaps between chunks, tokens per
// second, errors. A closed loop keeps N clients busy, each asking again when it was answered; an open loop sends requests at
// random times of a given rate, whether or not earlier ones were answered, and counts delays from the time a request was
// due, so that a server that stalls cannot hide it by being asked less.
//
// A plan is made before anything is measured: prompts of exact lengths, seeds, arrival times. It is a pure function of its
// seed and the tokenizer. Nothing is left out of the figures but what is counted as an error.
package load
