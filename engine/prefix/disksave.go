package prefix

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// ErrDiskLimit is returned for a snapshot that is larger than the disk tier's limit.
var ErrDiskLimit = errors.New("prefix: snapshot larger than the disk limit")

// batchChunks is how many chunks one transaction writes: 4 MiB.
const batchChunks = 16

// Save writes the snapshot of ids to disk, evicting what was used least recently to make room, unless it is there. The
// caller holds s for the call and owns st. It may take long; nothing else waits for it but other saves. After an error,
// or if ctx ends, the snapshot is not on disk and its parts are reclaimed. A file that turns out spoiled is begun anew, and
// the snapshot goes into the new one.
func (d *Disk) Save(ctx context.Context, st metal.Stream, ids []int32, s *state.Snapshot) error {
	if s.Len != len(ids) || s.Kind != d.o.Device.Kind {
		return fmt.Errorf("prefix: %w: got %d positions of device kind %q, want %d of %q", state.ErrSnapshot, s.Len, s.Kind, len(ids), d.o.Device.Kind)
	}
	d.saving.Lock()
	defer d.saving.Unlock()
	if err := d.heal(); err != nil {
		return err
	}
	err := d.save(ctx, st, ids, s)
	if err == nil || !d.spoiled(err) {
		return err
	}
	d.mu.Lock()
	d.lose(err)
	d.mu.Unlock()
	if err := d.heal(); err != nil {
		return err
	}
	return d.save(ctx, st, ids, s)
}

// save is Save on a file that is thought to be whole. d.saving is held.
func (d *Disk) save(ctx context.Context, st metal.Stream, ids []int32, s *state.Snapshot) error {
	outline := s.Outline()
	rec := &stored{class: state.ClassKey(d.sep, s.Prompt, s.Len), outline: outline, parts: d.names(ids, &outline), tokens: len(ids)}
	rec.id = d.name(ids, rec.class, s.Drafts())
	floats := s.Floats()
	bytes := make([]int64, len(floats))
	for i, n := range floats {
		bytes[i] = 4 * int64(n)
	}
	_, need, there := d.lacks(rec, bytes)
	switch {
	case there:
		return nil
	case need > d.o.Limit:
		return fmt.Errorf("%w: got %d bytes, want at most %d", ErrDiskLimit, need, d.o.Limit)
	}
	if err := d.shrink(ctx, need); err != nil {
		return fmt.Errorf("prefix: disk cache: make room: %w", err)
	}
	// Making room may have taken parts that this snapshot would have shared, and so may making room for those; then nothing
	// is left that it shares.
	fresh, need, _ := d.lacks(rec, bytes)
	for d.Stats().Bytes+need > d.o.Limit && need <= d.o.Limit {
		if err := d.shrink(ctx, need); err != nil {
			return fmt.Errorf("prefix: disk cache: make room: %w", err)
		}
		fresh, need, _ = d.lacks(rec, bytes)
	}
	if need > d.o.Limit {
		return fmt.Errorf("%w: got %d bytes, want at most %d", ErrDiskLimit, need, d.o.Limit)
	}
	err := d.write(ctx, st, ids, s, rec, fresh, floats)
	if err != nil {
		err = fmt.Errorf("prefix: disk cache: save %d positions: %w", s.Len, err)
		return errors.Join(err, d.drop(context.WithoutCancel(ctx), fresh, rec.parts))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	rec.used = d.now()
	d.learn(rec, ids, bytes)
	d.stats.Saves++
	for _, i := range fresh {
		d.stats.Written += bytes[i]
	}
	return nil
}

// lacks lists the parts of a snapshot that are not on disk, and the bytes that it would add.
func (d *Disk) lacks(rec *stored, bytes []int64) (fresh []int, need int64, there bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.all[rec.id]; old != nil {
		old.used = d.now()
		d.touched[old.id] = old.used
		return nil, 0, true
	}
	need = tokenBytes * int64(rec.tokens)
	for i, p := range rec.parts {
		if d.parts[p] == nil {
			fresh = append(fresh, i)
			need += bytes[i]
		}
	}
	return fresh, need, false
}

// write puts the fresh parts into the file, a few chunks at a time, and then the record.
func (d *Disk) write(ctx context.Context, st metal.Stream, ids []int32, s *state.Snapshot, rec *stored, fresh, floats []int) error {
	host := make([]float32, chunkFloats)
	data := make([]byte, 0, 4*chunkFloats+4)
	for _, part := range fresh {
		key := rec.parts[part]
		if _, err := d.db.ExecContext(ctx, `insert or replace into parts values (?, ?)`, key[:], 4*floats[part]); err != nil {
			return err
		}
		for from := 0; from < floats[part]; from += batchChunks * chunkFloats {
			err := d.transact(ctx, func(tx *sql.Tx) error {
				for off := from; off < min(floats[part], from+batchChunks*chunkFloats); off += chunkFloats {
					n := min(chunkFloats, floats[part]-off)
					if err := s.ReadPart(st, part, off, host[:n]); err != nil {
						return err
					}
					data = appendChunk(data[:0], host[:n])
					if _, err := tx.ExecContext(ctx, `insert or replace into chunks values (?, ?, ?)`, key[:], off/chunkFloats, data); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return d.record(ctx, ids, rec)
}

// transact runs f in a transaction, which is taken back if f fails or panics.
func (d *Disk) transact(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to take back after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// record makes a snapshot whose parts are all there part of the store.
func (d *Disk) record(ctx context.Context, ids []int32, rec *stored) error {
	outline, err := json.Marshal(rec.outline)
	if err != nil {
		panic("prefix: " + err.Error()) // numbers always marshal
	}
	tokens := make([]byte, 0, 4*len(ids))
	for _, t := range ids {
		tokens = binary.LittleEndian.AppendUint32(tokens, uint32(t))
	}
	return d.transact(ctx, func(tx *sql.Tx) error {
		for i, p := range rec.parts {
			if _, err := tx.ExecContext(ctx, `insert or replace into uses values (?, ?, ?)`, rec.id[:], i, p[:]); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `insert or replace into snapshots values (?, ?, ?, ?, ?, ?)`,
			rec.id[:], d.model, tokens, rec.class, string(outline), d.now().UnixNano())
		return err
	})
}

// shrink makes room for so many bytes: it forgets what was used least recently, and removes from the file all that is
// forgotten.
func (d *Disk) shrink(ctx context.Context, need int64) error {
	d.mu.Lock()
	for d.used+need > d.o.Limit {
		var oldest *stored
		for _, s := range d.all {
			if oldest == nil || s.used.Before(oldest.used) {
				oldest = s
			}
		}
		if oldest == nil {
			break
		}
		d.forget(oldest)
		d.stats.Evictions++
	}
	d.mu.Unlock()
	return d.tidy(ctx)
}

// tidy removes what is forgotten from the file and writes down when what was used.
func (d *Disk) tidy(ctx context.Context) error {
	d.mu.Lock()
	doomed, touched := d.doomed, d.touched
	d.doomed, d.touched = nil, map[id]time.Time{}
	d.mu.Unlock()
	for i, s := range doomed {
		if err := d.erase(ctx, s); err != nil {
			d.mu.Lock()
			d.doomed = append(d.doomed, doomed[i:]...)
			d.mu.Unlock()
			return err
		}
	}
	for key, at := range touched {
		if _, err := d.db.ExecContext(ctx, `update snapshots set used = ? where id = ?`, at.UnixNano(), key[:]); err != nil {
			return err
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	_, err := d.db.ExecContext(ctx, `pragma incremental_vacuum`)
	return err
}

// erase removes a snapshot's record and the parts that nobody names any more from the file.
func (d *Disk) erase(ctx context.Context, s *stored) error {
	d.mu.Lock()
	again := d.all[s.id] != nil
	d.mu.Unlock()
	if again { // saved anew
		return nil
	}
	for _, q := range []string{`delete from snapshots where id = ?`, `delete from uses where snapshot = ?`} {
		if _, err := d.db.ExecContext(ctx, q, s.id[:]); err != nil {
			return err
		}
	}
	return d.drop(ctx, nil, s.parts)
}

// drop removes those of the parts (which of them, or all if nil) from the file that no known snapshot has.
func (d *Disk) drop(ctx context.Context, which []int, parts []id) error {
	for i, p := range parts {
		d.mu.Lock()
		keep := d.parts[p] != nil
		d.mu.Unlock()
		if keep || which != nil && !slices.Contains(which, i) {
			continue
		}
		for _, q := range []string{`delete from chunks where part = ?`, `delete from parts where id = ?`} {
			if _, err := d.db.ExecContext(ctx, q, p[:]); err != nil {
				return err
			}
		}
	}
	return nil
}
