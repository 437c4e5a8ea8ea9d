package accountant

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNever is what a Refusal is.
var ErrNever = errors.New("does not fit in memory")

// Refusal is returned for what cannot fit even when nothing else is live. Sizes are in bytes.
type Refusal struct {
	Need, Room, Limit int64
}

// Error tells the numbers.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%v: it may need %d MiB, the limit of %d MiB leaves %d MiB beside weights, passes and the program",
		ErrNever, mib(r.Need), r.Limit>>20, max(r.Room, 0)>>20)
}

// Is makes it an ErrNever.
func (r *Refusal) Is(target error) bool { return target == ErrNever }

// Snapshots is what may be given up for a request: the prefix cache.
type Snapshots interface {
	Bytes() int64
	// Evict gives up at least so many bytes if it can, and returns how many it did.
	Evict(bytes int64) int64
}

// Accountant promises memory. It is safe for concurrent use.
type Accountant struct {
	limit int64        // bytes; 0: no limit
	fixed func() int64 // what is held for good: weights, passes, the program

	mu        sync.Mutex
	snapshots Snapshots // nil: none
	held      map[string]int64
	promised  int64
}

// New returns an accountant for a limit in bytes, 0 for none. fixed is asked whenever a promise is made.
func New(limit int64, fixed func() int64) *Accountant {
	return &Accountant{limit: limit, fixed: fixed, held: map[string]int64{}}
}

// Use names what may be evicted.
func (a *Accountant) Use(s Snapshots) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.snapshots = s
}

// Check says whether bytes could be promised if nothing else were live. The error is a *Refusal.
func (a *Accountant) Check(bytes int64) error {
	if a.limit == 0 {
		return nil
	}
	if room := a.limit - a.fixed(); bytes > room {
		return &Refusal{Need: bytes, Room: room, Limit: a.limit}
	}
	return nil
}

// Reserve promises bytes to id if they are there now, evicting snapshots for them.
func (a *Accountant) Reserve(id string, bytes int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 {
		free := a.limit - a.fixed() - a.promised - a.cached()
		if bytes > free && a.snapshots != nil {
			free += a.snapshots.Evict(bytes - free)
		}
		if bytes > free {
			return false
		}
	}
	a.promised += bytes - a.held[id]
	a.held[id] = bytes
	return true
}

func (a *Accountant) cached() int64 {
	if a.snapshots == nil {
		return 0
	}
	return a.snapshots.Bytes()
}

// Force promises bytes to id, whatever the books say: for the only request there is, when Check found that it fits.
// Snapshots that are in use just now are gone in a moment, and the device asks for them again.
func (a *Accountant) Force(id string, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promised += bytes - a.held[id]
	a.held[id] = bytes
}

// Release takes a promise back.
func (a *Accountant) Release(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promised -= a.held[id]
	delete(a.held, id)
}

// Figures are the accountant's books.
type Figures struct {
	Limit     int64 // 0: none
	Fixed     int64 // weights, passes, and what is kept for the program
	Promised  int64 // to live requests, at their largest
	Snapshots int64
}

// Figures reads the books.
func (a *Accountant) Figures() Figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Figures{Limit: a.limit, Fixed: a.fixed(), Promised: a.promised, Snapshots: a.cached()}
}

// mib rounds up, so that a refusal never claims to need 0 MiB.
func mib(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
