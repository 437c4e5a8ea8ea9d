package cpu

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// Attend is gated grouped-query attention over the row's tokens in ascending order, spec 2.5. Per row and head:
//
//	s_j = <q, k_j> * round(1/sqrt(dim))     lane rule with fused multiply-add
//	p_j = exp(s_j - max s);  z = sum_j p_j   sequential, ascending, from 0
//	a   = sum_j p_j * v_j                    sequential, ascending, from 0, products rounded
//	out = (a * (1/z)) * sigmoid(gate)
//
// A dense row and a row that selected all its blocks walk the same tokens, so they give the same bits. The work is split
// by row and KV head; a group of query heads shares one walk over the keys.
func (s *stream) Attend(dst, q, gate, sel metal.Mat, shape metal.AttendShape, spans []metal.AttendSpan) {
	d, mq, mg, ids := matOf(dst), matOf(q), matOf(gate), imatOf(sel)
	w := shape.Heads * shape.Dim
	if d.rows != mq.rows || d.cols != w || mq.cols != w || mg.rows != mq.rows || mg.cols != 2*w || shape.KVHeads < 1 ||
		shape.Heads%shape.KVHeads != 0 || shape.Ratio < 1 {
		want(false, "Attend", "dst [%d %d], q [%d %d], gate [%d %d], shape %+v", d.rows, d.cols, mq.rows, mq.cols, mg.rows, mg.cols, shape)
	}
	rows, work := 0, 0
	for k := range spans {
		sp := &spans[k]
		if sp.N == 0 {
			continue
		}
		n := sp.Pos + sp.N
		if sp.Row < 0 || sp.Row+sp.N > mq.rows || n*shape.KVHeads*shape.Dim > min(sp.K.N, sp.V.N) ||
			n/shape.Ratio > shape.Top && (ids.rows != mq.rows || ids.cols < shape.Top) {
			want(false, "Attend", "span %d: rows %d+%d of %d at position %d, k [%d], v [%d], sel [%d %d], shape %+v", k, sp.Row, sp.N, mq.rows,
				sp.Pos, sp.K.N, sp.V.N, ids.rows, ids.cols, shape)
		}
		rows += sp.N
		work += sp.N * min(n, (shape.Top+1)*shape.Ratio)
	}
	if rows == 0 {
		return
	}
	units := rows * shape.KVHeads
	k := s.dev.kernels
	grain := max(1, cheapGrain/max(1, work/rows*w/shape.KVHeads))
	if units <= grain {
		attendUnits(k, d, mq, mg, ids, shape, spans, 0, units)
		return
	}
	s.parallel(units, grain, func(lo, hi int) { attendUnits(k, d, mq, mg, ids, shape, spans, lo, hi) })
}

// run is a run of consecutive tokens, not empty and not longer than maxRun.
type run struct{ from, n int }

// maxRun bounds a run, and with it the time one assembly call takes.
const maxRun = 1024

// appendRun appends tokens from..from+n-1, to the last run if they follow it.
func appendRun(runs []run, from, n int) []run {
	if k := len(runs) - 1; k >= 0 && runs[k].from+runs[k].n == from {
		more := min(n, maxRun-runs[k].n)
		runs[k].n += more
		from, n = from+more, n-more
	}
	for n > 0 {
		m := min(n, maxRun)
		runs = append(runs, run{from, m})
		from, n = from+m, n-m
	}
	return runs
}

// runsOf appends the runs of tokens that a row at position t attends to, and returns the number of tokens; ids are the
// row's selected blocks.
func runsOf(runs []run, ids []int32, t, ratio, top int) ([]run, int) {
	nb := (t + 1) / ratio
	if nb <= top {
		return appendRun(runs, 0, t+1), t + 1
	}
	last := -1
	for _, id := range ids[:top] {
		b := int(id)
		if b <= last || b >= nb {
			want(false, "Attend", "row at position %d: block %d after block %d, want ascending blocks below %d", t, b, last, nb)
		}
		runs = appendRun(runs, b*ratio, ratio)
		last = b
	}
	return appendRun(runs, nb*ratio, t+1-nb*ratio), top*ratio + t + 1 - nb*ratio
}

// attendUnits runs units lo..hi-1; unit u is KV head u mod KVHeads of row u / KVHeads, rows of all spans laid end to end.
func attendUnits(ks *kernelSet, dst, q, gate mat, sel imat, shape metal.AttendShape, spans []metal.AttendSpan, lo, hi int) {
	dim, group := shape.Dim, shape.Heads/shape.KVHeads
	stride := shape.KVHeads * dim
	base, last, total := 0, -1, 0
	c := takeScratch(0)
	defer c.free()
	runs := c.runs
	for k := range spans {
		sp := &spans[k]
		from, to := max(lo-base, 0), min(hi-base, sp.N*shape.KVHeads)
		base += sp.N * shape.KVHeads
		if from >= to {
			continue
		}
		keys, values := vecOf(sp.K), vecOf(sp.V)
		for u := from; u < to; u++ {
			row, kv := sp.Row+u/shape.KVHeads, u%shape.KVHeads
			if row != last {
				t := sp.Pos + u/shape.KVHeads
				var ids []int32
				if (t+1)/shape.Ratio > shape.Top {
					ids = sel.row(row)
				}
				runs, total = runsOf(runs[:0], ids, t, shape.Ratio, shape.Top)
				c.runs, last = runs, row
			}
			c.grow(group * total)
			qs := q.row(row)[kv*group*dim:][:group*dim]
			gates := gate.row(row)[kv*group*2*dim:][:group*2*dim]
			out := dst.row(row)[kv*group*dim:][:group*dim]
			attendGroup(ks, out, qs, gates, keys[kv*dim:], values[kv*dim:], stride, dim, runs, total, c.f)
		}
		last = -1
	}
}

// attendGroup is one KV head of one row: q, gates and out hold the group's heads; token j's key is keys[j*stride:][:dim].
// scores has room for total values per head.
func attendGroup(k *kernelSet, out, q, gates, keys, values []float32, stride, dim int, runs []run, total int, scores []float32) {
	scale, v := float32(1/math.Sqrt(float64(dim))), k.simd()
	heads := len(q) / dim
	for h := 0; h < heads; h++ {
		if heads-h >= 4 && h%4 == 0 && groupScores(v, scores[h*total:], q[h*dim:], keys, runs, stride, dim, total, scale) {
			h += 3
			continue
		}
		attendScores(v, scores[h*total:][:total], q[h*dim:][:dim], keys, runs, stride, scale)
	}
	for h := range heads {
		p := scores[h*total:][:total]
		k.expShift(p, largest(v, p))
	}
	clear(out)
	for h := 0; h < heads; h += 4 {
		// The sums of four heads run side by side: one alone waits for each of its additions.
		n := min(4, heads-h)
		var sum [4]float32
		if n < 4 || !groupValues(v, &sum, out[h*dim:], scores[h*total:], values, runs, stride, dim, total) {
			sum = sums(scores[h*total:], total, n)
			for i := range n {
				attendValues(v, out[(h+i)*dim:][:dim], scores[(h+i)*total:][:total], values, runs, stride)
			}
		}
		for i, z := range sum[:n] {
			acc := out[(h+i)*dim:][:dim]
			inv := 1 / z
			for c := range acc {
				acc[c] = float32(acc[c] * inv)
			}
			k.sigmoidMul(acc, gates[(h+i)*2*dim+dim:][:dim], acc)
		}
	}
}

// attendScores sets p[j] = <q, keys_t> * scale, t the j-th token of the runs.
func attendScores(k simd, p, q, keys []float32, runs []run, stride int, scale float32) {
	if headScores(k, p, q, keys, runs, stride, scale) == len(p) {
		return
	}
	for _, r := range runs {
		for j := range p[:r.n] {
			p[j] = float32(laneDotFused(k, q, keys[(r.from+j)*stride:][:len(q)]) * scale)
		}
		p = p[r.n:]
	}
}

// sums adds each of the first heads (at most 4) rows of n values in ascending order.
func sums(p []float32, n, heads int) (z [4]float32) {
	if heads < 4 {
		for h := range heads {
			for _, v := range p[h*n:][:n] {
				z[h] += v
			}
		}
		return z
	}
	a, b, c, d := p[:n], p[n:][:n], p[2*n:][:n], p[3*n:][:n]
	var s, t, u, v float32
	for j := range a {
		s += a[j]
		t += b[j]
		u += c[j]
		v += d[j]
	}
	return [4]float32{s, t, u, v}
}

// attendValues adds sum_j p[j]*values_t to acc, t the j-th token of the runs, products rounded.
func attendValues(k simd, acc, p, values []float32, runs []run, stride int) {
	n := headValues(k, acc, p, values, runs, stride)
	if n == len(acc) {
		return
	}
	rest := acc[n:]
	for _, r := range runs {
		for j, pj := range p[:r.n] {
			v := values[(r.from+j)*stride+n:][:len(rest)]
			for i := range rest {
				rest[i] += float32(pj * v[i])
			}
		}
		p = p[r.n:]
	}
}
