// Package accountant promises memory before work starts. It knows the limit, what weights and passes take for good, what
// every live request may come to need, and what snapshots hold; a request that cannot fit is refused with the numbers, one
// that cannot fit now waits, and snapshots are evicted before anyone waits (design, promise 3).
//
// It is a plain value behind a mutex, asked by the intake; it allocates nothing itself. The device enforces the same limit
// on real allocations. The package also reads what the process holds: as the system counts it, and as Go does.
package accountant
