package mlx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/write"
)

// blockValues is how many values of a matrix a job holds at a time: 1 MiB of floats.
const blockValues = 1 << 18

// Write writes the pack: the planned tensors, texts as they are (config.json among them, see [Plan.Config]), and a manifest
// that m begins. run gets the jobs that hold the bulk of it and may share them out over goroutines; nil runs them one
// after the other.
//
// It refuses an out that exists and a disk without the room. The folder has its name only when all of it is there; after an
// error nothing is left of it.
func (p *Plan) Write(ctx context.Context, out string, texts map[string][]byte, m manifest.Manifest, run func(context.Context, []Job) error) error {
	if _, written := p.Bytes(); written > 0 {
		if err := write.Room(out, written); err != nil {
			return err
		}
	}
	folder, err := write.Create(out)
	if err != nil {
		return err
	}
	if run == nil {
		run = inTurn
	}
	w := &writer{plan: p, folder: folder}
	err = w.open()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err == nil {
			err = folder.Text(name, texts[name])
		}
	}
	if err == nil {
		err = run(ctx, w.jobs)
	}
	if err == nil {
		err = ctx.Err() // an interrupt between the last job and here
	}
	if err == nil {
		err = folder.Finish(m)
	}
	if err != nil {
		return errors.Join(err, folder.Abandon())
	}
	return nil
}

func inTurn(ctx context.Context, jobs []Job) error {
	for i := range jobs {
		if err := jobs[i].Run(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// writer is a plan that is being written.
type writer struct {
	plan   *Plan
	folder *write.Folder
	jobs   []Job
}

func (w *writer) open() error {
	format := []write.Pair{{Key: "format", Value: "mlx"}}
	shards := write.Shards(trunkStem, w.tensors(inTrunk), w.plan.o.Shard)
	if len(shards) > 1 {
		index, err := write.Index(shards)
		if err != nil {
			return err
		}
		if err := w.folder.Text(trunkStem+".safetensors.index.json", index); err != nil {
			return err
		}
	}
	files := map[string]*write.File{} // by tensor
	file := func(name string, meta []write.Pair, tensors []write.Tensor) error {
		f, err := w.folder.File(name, meta, tensors)
		for _, t := range tensors {
			files[t.Name] = f
		}
		return err
	}
	for _, s := range shards {
		if err := file(s.Name, format, s.Tensors); err != nil {
			return err
		}
	}
	if t := w.tensors(inTable); len(t) > 0 {
		if err := file(tableFile, w.plan.tableMetadata(), t); err != nil {
			return err
		}
	}
	if t := w.tensors(inHead); len(t) > 0 {
		if err := file(headFile, format, t); err != nil {
			return err
		}
	}
	for i := range w.plan.entries {
		e := &w.plan.entries[i]
		j := Job{entry: e, Name: e.name, Bytes: e.bytes()}
		for _, t := range e.tensors {
			j.planes = append(j.planes, files[t.Name].Plane(t.Name))
		}
		switch {
		case w.plan.hole(e):
			for _, p := range j.planes {
				p.Skip()
			}
		case e.data != nil:
			if _, err := j.planes[0].Write(e.data); err != nil {
				return err
			}
			if err := j.planes[0].Close(); err != nil {
				return err
			}
		default:
			w.jobs = append(w.jobs, j)
		}
	}
	// The largest first, so that no goroutine is left alone with one at the end.
	slices.SortStableFunc(w.jobs, func(a, b Job) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return nil
}

// tensors lists those of one place by name.
func (w *writer) tensors(at place) []write.Tensor {
	var out []write.Tensor
	for i := range w.plan.entries {
		if e := &w.plan.entries[i]; e.file == at {
			out = append(out, e.tensors...)
		}
	}
	if at != inTable { // a table's planes stay in the order of the public packs: weight, scales, biases
		slices.SortFunc(out, func(a, b write.Tensor) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// tableMetadata is what the side-car says about its first table.
func (p *Plan) tableMetadata() []write.Pair {
	e := p.tables[0]
	return []write.Pair{
		{Key: "ngram_bits", Value: strconv.Itoa(e.format.Bits)},
		{Key: "ngram_group_size", Value: strconv.Itoa(e.format.Group)},
		{Key: "rows", Value: strconv.FormatInt(e.tensors[0].Shape[0], 10)},
		{Key: "dim", Value: strconv.Itoa(e.weights.Cols)},
	}
}

// Job writes one matrix: all its planes. It is run once.
type Job struct {
	Name  string // of the module, as in the file
	Bytes int64  // it will write

	entry  *entry
	planes []*write.Plane
}

// Run does the job. progress, if not nil, is told of bytes as they are written. The error names the tensor and, for a value
// that cannot be written, the row.
func (j *Job) Run(ctx context.Context, progress func(bytes int64)) error {
	e := j.entry
	m := e.weights
	n := max(1, min(blockValues/m.Cols, m.Rows))
	var sizes [3]int
	sizes[0], sizes[1], sizes[2] = e.format.RowBytes(m.Cols)
	var bufs [3][]byte
	for i, size := range sizes {
		bufs[i] = make([]byte, n*size)
	}
	var vals []float32
	if e.rows.Codes == nil {
		vals = make([]float32, n*m.Cols)
	}
	for part := range m.parts() {
		for from := 0; from < m.Rows; from += n {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows := min(n, m.Rows-from)
			cut := [3][]byte{bufs[0][:rows*sizes[0]], bufs[1][:rows*sizes[1]], bufs[2][:rows*sizes[2]]}
			if err := j.fill(cut, vals, part, from, rows); err != nil {
				return fmt.Errorf("module %q: matrix %d, rows %d to %d: %w", e.name, part, from, from+rows-1, err)
			}
			for i, p := range j.planes {
				if _, err := p.Write(cut[i]); err != nil {
					return err
				}
				if progress != nil {
					progress(int64(len(cut[i])))
				}
			}
		}
	}
	for _, p := range j.planes {
		if err := p.Close(); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the planes of a run of rows.
func (j *Job) fill(cut [3][]byte, vals []float32, part, from, rows int) error {
	e := j.entry
	if e.rows.Codes != nil {
		return e.rows.Codes(cut[0], cut[1], cut[2], part, from)
	}
	vals = vals[:rows*e.weights.Cols]
	if err := e.rows.Values(vals, part, from); err != nil {
		return err
	}
	return e.format.Encode(cut[0], cut[1], cut[2], vals)
}
