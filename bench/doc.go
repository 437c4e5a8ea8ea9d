// Package bench is the root of the measuring tools behind `flashlane bench`. It holds no code of its own:
//
//	stats    percentiles, bracketed comparison, verdicts: pure functions
//	client   what a client of the server measures: times of chunks, usage, digests, lanes, health
//	prompt   prompts of an exact length in templated tokens
//	load     open and closed loops over many clients
//	abba     two or more settings by turns, bracketed by controls (the seeds' method)
//	ops      a device that times every op of another one, and the machine's roofs
//	decode   rounds of one sequence, op by op
//	busy     how much of the machine went to others
//	chart    line charts as SVG, readable on light and on dark pages
//	fake     a server for tests of all this
//	report   tables, the machine's description, files
//
// load and abba know the server over HTTP only, on this machine only. What they print is what happened: errors, odd
// lengths, cached prompts and moved counters are told or end the run, never left out.
package bench
