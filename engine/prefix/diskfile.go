package prefix

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/url"
	"time"
)

// chunkFloats is how many values one row of the file holds.
const chunkFloats = 64 << 10

const schema = `
create table if not exists snapshots (id blob primary key, model text not null, tokens blob not null, class integer not null,
	outline text not null, used integer not null);
create table if not exists parts (id blob primary key, bytes integer not null);
create table if not exists uses (snapshot blob not null, n integer not null, part blob not null, primary key (snapshot, n));
create index if not exists used_by on uses (part);
create table if not exists chunks (part blob not null, n integer not null, data blob not null, primary key (part, n));
`

// errVersion marks a file of another version of this package.
var errVersion = errors.New("prefix: file of another version")

// errChunk marks a chunk that is missing or whose checksum does not match.
var errChunk = errors.New("prefix: chunk missing or damaged")

// openFile opens the file with its tables. The write-ahead log lets loads run beside a save; pages are freed in place, so the
// file stays near the size limit.
func openFile(path string) (*sql.DB, error) {
	q := url.Values{"_pragma": {"page_size(16384)", "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(normal)",
		"busy_timeout(10000)", "journal_size_limit(16777216)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	var version int
	err = db.QueryRow("pragma user_version").Scan(&version)
	if err == nil && version != 0 && version != diskVersion {
		err = fmt.Errorf("%w: got %d, want %d", errVersion, version, diskVersion)
	}
	if err == nil {
		_, err = db.Exec(schema + fmt.Sprintf("pragma user_version = %d;", diskVersion))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// reclaim removes parts that no snapshot names and snapshots that lack parts.
func (d *Disk) reclaim() error {
	res, err := d.db.Exec(`delete from parts where id not in (select part from uses where snapshot in (select id from snapshots))`)
	if err != nil {
		return err
	}
	if d.stats.Reclaimed, err = res.RowsAffected(); err != nil {
		return err
	}
	for _, q := range []string{
		`delete from uses where snapshot not in (select id from snapshots)`,
		`delete from snapshots where id in (select snapshot from uses where part not in (select id from parts))`,
		`delete from uses where snapshot not in (select id from snapshots)`,
		`delete from chunks where part not in (select id from parts)`,
		`pragma incremental_vacuum`,
	} {
		if _, err := d.db.Exec(q); err != nil {
			return err
		}
	}
	return nil
}

// index reads what is stored.
func (d *Disk) index() error {
	sizes := map[id]int64{}
	rows, err := d.db.Query(`select id, bytes from parts`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key []byte
		var n int64
		if err := rows.Scan(&key, &n); err != nil {
			return err
		}
		sizes[toID(key)] = n
	}
	if err := rows.Err(); err != nil {
		return err
	}
	uses := map[id][]id{}
	if rows, err = d.db.Query(`select snapshot, part from uses order by snapshot, n`); err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s, p []byte
		if err := rows.Scan(&s, &p); err != nil {
			return err
		}
		uses[toID(s)] = append(uses[toID(s)], toID(p))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if rows, err = d.db.Query(`select id, model, tokens, class, outline, used from snapshots`); err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key, tokens []byte
		var model, outline string
		var used int64
		s := &stored{}
		if err := rows.Scan(&key, &model, &tokens, &s.class, &outline, &used); err != nil {
			return err
		}
		s.id, s.tokens, s.used = toID(key), len(tokens)/4, time.Unix(0, used)
		s.parts = uses[s.id]
		bytes := make([]int64, len(s.parts))
		for i, p := range s.parts {
			bytes[i] = sizes[p]
		}
		var ids []int32
		if model == d.model {
			ids = make([]int32, s.tokens)
			for i := range ids {
				ids[i] = int32(binary.LittleEndian.Uint32(tokens[4*i:]))
			}
			err := json.Unmarshal([]byte(outline), &s.outline)
			if err != nil || len(ids) == 0 || s.outline.Len != len(ids) || s.outline.Parts() != len(s.parts) ||
				s.id != d.name(ids, s.class, len(s.outline.DraftRows) > 0) {
				d.learn(s, nil, bytes)
				d.forget(s)
				d.stats.Corrupt++
				continue
			}
		}
		d.learn(s, ids, bytes)
	}
	return rows.Err()
}

func toID(b []byte) (out id) {
	copy(out[:], b)
	return out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendChunk encodes values as they go into a row: little-endian, and a checksum at the end.
func appendChunk(b []byte, values []float32) []byte {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeChunk checks a row and sets values.
func decodeChunk(values []float32, b []byte) error {
	n := 4 * len(values)
	if len(b) != n+4 || binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return errChunk
	}
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// reader reads the parts of one snapshot in order.
type reader struct {
	ctx   context.Context
	db    *sql.DB
	parts []id

	rows  *sql.Rows
	part  int
	bytes int64
}

func (r *reader) read(part, off int, dst []float32) error {
	if r.rows == nil || part != r.part {
		r.close()
		r.part = part
		key := r.parts[part]
		rows, err := r.db.QueryContext(r.ctx, `select data from chunks where part = ? and n >= ? order by n`, key[:], off/chunkFloats)
		if err != nil {
			return err
		}
		r.rows = rows
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: part %d ends at value %d", errChunk, part, off)
	}
	var data sql.RawBytes
	if err := r.rows.Scan(&data); err != nil {
		return err
	}
	r.bytes += int64(len(data))
	if err := decodeChunk(dst, data); err != nil {
		return fmt.Errorf("%w: part %d at value %d", err, part, off)
	}
	return nil
}

func (r *reader) close() {
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
}
