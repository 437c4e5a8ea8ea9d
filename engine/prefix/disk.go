package prefix

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// ErrNotStored is returned for a snapshot that the disk does not hold, or no longer, or whose bytes turned out wrong: a
// miss, and no more than that.
var ErrNotStored = errors.New("prefix: not on disk")

// DiskOptions of a disk tier.
type DiskOptions struct {
	Pack    string                       // fingerprint of the pack
	Device  metal.Info                   // of the device
	Shape   *state.Shape                 // of the model's sequences
	Limit   int64                        // bytes of snapshots on disk, of all packs together
	Rebuilt func(path string, why error) // told when the file turned out unreadable and was begun anew; nil: nobody. It may call no method of Disk
	Now     func() time.Time             // the clock of uses, which may jump: the order of eviction is all that hangs on it; nil: time.Now
}

// Disk keeps snapshots in an SQLite file, so that they outlive the process. What is stored where is in memory: Lookup does
// no I/O and never waits for Save. Saves run one at a time, on their callers' goroutines; loads run beside them.
//
// Parts of snapshots are content-addressed, by the tokens and all else that their bits depend on, and shared along a prefix
// as they are in memory. A part goes to the file in small transactions and the snapshot's record after it, so that a
// process killed anywhere leaves at worst parts that no record names; they are reclaimed at the next start. Every chunk has
// a checksum: what does not match is a miss, counted and removed. A file that is spoiled while it is open (written over, cut,
// removed) loses all that it had and is begun anew, at once or by the next save.
type Disk struct {
	model string // pack and device kind, as they go into ids
	o     DiskOptions
	sep   bool
	path  string
	db    *sql.DB
	file  os.FileInfo // what db has open

	saving  sync.Mutex   // one writer
	loading sync.RWMutex // db and file change under it

	mu      sync.Mutex
	keys    radix[*stored]
	all     map[id]*stored // of all models; those of other models are in no node
	parts   map[id]*storedPart
	doomed  []*stored // no longer in all, still in the file
	touched map[id]time.Time
	used    int64
	broken  error // why the file has to be begun anew; nil: it need not
	stats   DiskStats
	now     func() time.Time
}

// DiskStats is a disk tier's counters and sizes.
type DiskStats struct {
	Saves     int64 `json:"saves"`
	Loads     int64 `json:"loads"`
	Written   int64 `json:"written"` // bytes
	Read      int64 `json:"read"`    // bytes
	Evictions int64 `json:"evictions"`
	Corrupt   int64 `json:"corrupt"`   // snapshots whose bytes were wrong or gone
	Reclaimed int64 `json:"reclaimed"` // orphaned parts found at the start
	Rebuilt   int64 `json:"rebuilt"`   // times that the file was unreadable and begun anew

	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Limit   int64 `json:"limit"`
}

// stored is a snapshot on disk.
type stored struct {
	id      id
	node    *node[*stored] // nil: of another model
	class   int
	outline state.Outline
	parts   []id
	tokens  int
	used    time.Time
}

type storedPart struct {
	bytes int64
	refs  int
}

const diskFile = "snapshots.sqlite"

// OpenDisk opens the store in a folder, which is made if need be, and reclaims what earlier processes left unfinished. A
// file that SQLite cannot read is thrown away and begun anew. Errors name the folder.
func OpenDisk(dir string, o DiskOptions) (*Disk, error) {
	if o.Limit < 1 {
		return nil, fmt.Errorf("prefix: disk cache %s: size limit: got %d bytes, want more", dir, o.Limit)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prefix: disk cache: %w", err)
	}
	d := &Disk{model: o.Pack + "\n" + o.Device.Kind, o: o, sep: o.Device.PromptRows, path: filepath.Join(dir, diskFile), now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	err := d.open()
	if err != nil && unreadable(err) {
		err = d.restart(err)
	}
	if err != nil {
		return nil, fmt.Errorf("prefix: disk cache %s: %w", dir, err)
	}
	return d, nil
}

func (d *Disk) open() error {
	db, err := openFile(d.path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.clear()
	d.mu.Unlock()
	d.db = db
	if d.file, err = os.Stat(d.path); err != nil {
		return errors.Join(err, db.Close())
	}
	if err = d.reclaim(); err == nil {
		err = d.index()
	}
	if err == nil {
		err = d.shrink(context.Background(), 0)
	}
	if err != nil {
		db.Close()
	}
	return err
}

// clear empties the index. d.mu is held.
func (d *Disk) clear() {
	d.keys, d.all, d.parts, d.used = radix[*stored]{}, map[id]*stored{}, map[id]*storedPart{}, 0
	d.doomed, d.touched = nil, map[id]time.Time{}
}

// Lookup is the length of the longest stored prefix of ids, but not all of them, that serves; 0 if there is none.
func (d *Disk) Lookup(ids []int32, w Want) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	best := 0
	d.keys.walk(ids[:max(0, len(ids)-1)], func(n *node[*stored]) {
		if d.find(n, w) != nil {
			best = n.depth
		}
	})
	return best
}

// find is a node's snapshot that serves. d.mu is held.
func (d *Disk) find(n *node[*stored], w Want) *stored {
	for _, s := range n.items {
		if s.class == state.ClassKey(d.sep, w.Prompt, n.depth) && (!w.Drafts || len(s.outline.DraftRows) > 0) {
			return s
		}
	}
	return nil
}

// LoadOptions of a load.
type LoadOptions struct {
	Parent  *state.Snapshot // of a prefix of ids, found with the same Want: what it has is not read again
	Account state.Account
}

// Load reads the snapshot of exactly ids. It waits for st, on which it writes. Errors wrap ErrNotStored, metal.ErrMemory, or
// are of ctx or the file; nothing is left allocated.
func (d *Disk) Load(ctx context.Context, st metal.Stream, dev metal.Device, ids []int32, w Want, o LoadOptions) (*state.Snapshot, error) {
	d.mu.Lock()
	var s *stored
	if n := d.keys.at(ids); n != nil {
		s = d.find(n, w)
	}
	if s == nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("%w: %d tokens", ErrNotStored, len(ids))
	}
	s.used = d.now()
	d.touched[s.id] = s.used
	d.mu.Unlock()

	snap, lost, err := d.read(ctx, st, dev, s, o)
	if lost && d.saving.TryLock() { // a save that runs will come to it
		defer d.saving.Unlock()
		err = errors.Join(err, d.heal())
	}
	return snap, err
}

// read makes a snapshot of what the file has of it. lost tells that the file is spoiled.
func (d *Disk) read(ctx context.Context, st metal.Stream, dev metal.Device, s *stored, o LoadOptions) (snap *state.Snapshot, lost bool, err error) {
	d.loading.RLock()
	defer d.loading.RUnlock()
	r := &reader{ctx: ctx, db: d.db, parts: s.parts}
	defer r.close()
	snap, err = state.Rebuild(st, d.o.Shape, dev, s.outline,
		state.RebuildOptions{Parent: o.Parent, Account: o.Account, Read: r.read, Chunk: chunkFloats})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Read += r.bytes
	switch {
	case err == nil:
		d.stats.Loads++
		return snap, false, nil
	case d.all[s.id] != s: // forgotten while it was read
		return nil, false, fmt.Errorf("%w: %d tokens", ErrNotStored, s.tokens)
	case d.spoiled(err):
		d.lose(err)
		return nil, true, fmt.Errorf("%w: %w", ErrNotStored, err)
	case errors.Is(err, errChunk):
		d.condemn(r.parts[r.part])
		return nil, false, fmt.Errorf("%w: %w", ErrNotStored, err)
	case errors.Is(err, state.ErrSnapshot) && o.Parent == nil: // what it says of itself is wrong
		d.condemn(s.parts[0])
		return nil, false, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return nil, false, fmt.Errorf("prefix: disk cache: %w", err)
}

// condemn forgets all snapshots that have a part that is wrong; the next save removes them from the file. d.mu is held.
func (d *Disk) condemn(bad id) {
	for _, s := range d.all {
		if slices.Contains(s.parts, bad) {
			d.forget(s)
			d.stats.Corrupt++
		}
	}
}

// forget takes a snapshot out of the index and notes that the file still has it. d.mu is held.
func (d *Disk) forget(s *stored) {
	if d.all[s.id] != s {
		return
	}
	delete(d.all, s.id)
	d.doomed = append(d.doomed, s)
	if n := s.node; n != nil {
		n.items = slices.DeleteFunc(n.items, func(o *stored) bool { return o == s })
		d.keys.prune(n)
	}
	d.used -= tokenBytes * int64(s.tokens)
	for _, p := range s.parts {
		if part := d.parts[p]; part.refs == 1 {
			d.used -= part.bytes
			delete(d.parts, p)
		} else {
			part.refs--
		}
	}
}

// learn puts a snapshot into the index. d.mu is held, or nobody else knows d yet.
func (d *Disk) learn(s *stored, ids []int32, bytes []int64) {
	d.all[s.id] = s
	if ids != nil {
		s.node = d.keys.put(ids)
		s.node.items = append(s.node.items, s)
	}
	d.used += tokenBytes * int64(s.tokens)
	for i, p := range s.parts {
		if d.parts[p] == nil {
			d.parts[p] = &storedPart{bytes: bytes[i]}
			d.used += bytes[i]
		}
		d.parts[p].refs++
	}
}

// Stats is a copy of the counters.
func (d *Disk) Stats() DiskStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Entries, s.Bytes, s.Limit = len(d.all), d.used, d.o.Limit
	return s
}

// Close waits for a running save, writes down when what was used, and closes the file. Nothing may be called afterwards.
func (d *Disk) Close() error {
	d.saving.Lock()
	defer d.saving.Unlock()
	d.mu.Lock()
	broken := d.broken != nil // begun anew at the next start
	d.mu.Unlock()
	if broken {
		return d.db.Close()
	}
	return errors.Join(d.tidy(context.Background()), d.db.Close())
}

var _ io.Closer = (*Disk)(nil)
