// Package worker runs device passes outside of mailboxes. A Worker is one goroutine with a queue: an actor hands it a Job
// and goes on; the job tells its end by message. A Worker outlives restarts of its actor, so a pass that runs while the
// actor dies still ends, frees what it holds and sends what it owes (design, section 6).
package worker
