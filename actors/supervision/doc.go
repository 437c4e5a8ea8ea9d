// Package supervision holds the rules by which the house's actors fail and come back (design, section 6).
//
// Three pieces, used together on every actor: [House.Middleware] counts and times messages, injects faults, and on a panic
// lets the failing message pay what it owes ([Owed]) before the panic goes on with its stack ([PanicError]); [House]
// is the supervisor's strategy: one log line per failure, back-off from 2 ms to 100 ms, restart, and escalation when an
// actor fails again and again while no token is committed; [Register] is the tree that GET /v1/actors shows.
//
// It owns no actor and sends no message of its own.
package supervision
