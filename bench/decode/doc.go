// Package decode measures one sequence at temperature 0 op by op: prefill, and rounds of drafting, verifying and committing
// as the engine does them, without actors, mailboxes, text and HTTP around them. What a served round takes on top of this is
// what those cost.
package decode
