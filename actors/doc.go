// Package actors wires the house: one tree under our own root supervisor, workers for device passes, and the client that
// the server talks to (design, sections 2, 3 and 6).
//
//	flashlane                root supervisor (supervision.House)
//	├── lanes                switches lanes
//	├── intake               admits, queues, cancels
//	├── sessions             parent of all sessions
//	│   └── chatcmpl-…       one request each
//	├── drafter              MTP head
//	├── verifier             trunk
//	├── stager               n-gram planes (when the pack has PLE layers)
//	└── indexer-3, -7, …     pooled-key banks, one per trunk QSA layer
//
// Everything else in the folder is one actor, or a piece that several of them share: bus (events), worker (device work
// outside of mailboxes), supervision (how actors fail), round (what travels with a round), accountant (who was promised how
// much memory). A watchdog looks at the passes' odometers and gives the house up when one is stuck.
package actors
