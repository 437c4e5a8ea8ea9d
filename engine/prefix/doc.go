// Package prefix keeps snapshots of sequences by the tokens that made them, so that a request whose prompt begins like an
// earlier one goes on from there (design, promise 1: a hit changes no byte, only the time).
//
// Recurrent states cannot be cut, so a prefix can be resumed only where a snapshot was taken; [Policy] says where that
// pays. A [Tree] is a radix tree over token ids: the longest snapshotted prefix is found in time linear in the prompt,
// whatever the tree holds. Two sessions that share a prefix, a conversation whose early message was edited, and one that
// its client compacted all hit as far as a snapshot of their common beginning goes.
//
// # Keys
//
// A tree is of one pack (its fingerprint) and one device kind. Within it the key is the token ids and, on a device with two
// classes of positions, how many of them were computed as prompt ([state.ClassKey]). A snapshot that cannot draft does not
// serve a request that will.
//
// # Memory
//
// The tree is the [state.Account] of its snapshots: memory is booked before it is allocated, and unused snapshots are
// evicted, the least recently used first, until it fits. The limit is never passed; what cannot fit is refused, and the
// request goes on without a snapshot. A snapshot that somebody holds a [Handle] on is never evicted. One that others stand
// on gives up its states and hands its rows over to them.
//
// # Disk
//
// A [Disk] keeps snapshots over restarts, in one SQLite file in pure Go. SQLite and not a log-structured store, because a
// full or failing disk comes back as an error where Pebble ends the process when it cannot write its manifest; because
// nothing is written again by compaction; and because it adds 8 MB and 8 modules to the binary instead of 25 MB and 31.
// [Fetch] looks in both tiers; [Disk.Save] is called by whoever has time for it.
//
// # Concurrency
//
// All methods may be called from any goroutine. The lock is held for walks and list work only: device memory is copied,
// and freed, outside of it.
package prefix
