// Package intake takes requests in and carries each through its rounds.
//
// Two actors and their sessions: the intake admits, queues and cancels; the nursery is the parent of all sessions, so that
// a restart of the intake stops none of them; a session is one request: it holds the prompt, the sampler, the stop rules, the
// ledger of committed token ids and the output (design, section 3). What must outlive a crash stands outside of the
// actors: [Desk] (who is live, who waits) and the session's own state with its [transcript], the pure part.
//
//   - owns: the desk; the ledger and the output of each request
//   - receives: Submit, Cancel, Shut (client), ended (session), spawn (intake to nursery); a session: verifier.Progress,
//     verifier.Scored, verifier.Committed, round.Lost
//   - sends: verifier.Prefill, drafter.Draft, ended; events to the request's Output
//   - fails: lost messages are sent again, up to three tries; a session that loses a round, its own crash included, makes a
//     new sequence and replays its ledger; three losses by its own failure with nothing new committed between them end the
//     request with a 500; sessions outlive a failure of their parent
package intake
