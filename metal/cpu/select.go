package cpu

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

const (
	selectBatch = 8    // rows scored side by side: bounds the scratch at selectBatch scores per block
	selectChunk = 1024 // blocks of one row scored by one call, the unit shared among threads
	selectDots  = 128  // blocks whose keys stay in the first cache while all heads pass over them
)

// Select chooses blocks for every row, spec 2.5. score_b = sum over heads, ascending, of relu(<qI_h, kbar_b>), each dot by
// the lane rule with fused multiply-add; the constant 1/sqrt(dim) changes no order and is left out. relu of NaN is 0.
// The top blocks are found by a radix search of the threshold score, so the cost is linear in the blocks and ids come
// out ascending, ties going to the lowest.
func (s *stream) Select(sel, qi metal.Mat, heads, dim, ratio, top int, spans []metal.SelectSpan) {
	ids, q := imatOf(sel), matOf(qi)
	if ids.rows != q.rows || ids.cols != top || q.cols != heads*dim || ratio < 1 {
		want(false, "Select", "sel [%d %d], qi [%d %d], %d heads of %d, ratio %d, top %d", ids.rows, ids.cols, q.rows, q.cols, heads, dim, ratio, top)
	}
	for k := range spans {
		sp := &spans[k]
		if sp.N == 0 {
			continue
		}
		last := (sp.Pos + sp.N) / ratio // blocks seen by the last row
		if sp.Row < 0 || sp.Row+sp.N > q.rows || last > top && (min(sp.Blocks, last)*dim > sp.Bank.N || (last-sp.Blocks)*dim > sp.Scratch.N) {
			want(false, "Select", "span %d: rows %d+%d of %d at position %d, ratio %d, bank %d of %d values, scratch %d values", k, sp.Row, sp.N,
				q.rows, sp.Pos, ratio, sp.Blocks, sp.Bank.N, sp.Scratch.N)
		}
		first := sp.N // first row that has to choose
		for i := range sp.N {
			nb := (sp.Pos + i + 1) / ratio
			if nb > top {
				first = i
				break
			}
			row := ids.row(sp.Row + i)
			for b := range nb {
				row[b] = int32(b)
			}
		}
		if first < sp.N && top > 0 {
			s.selectRows(ids, q, heads, dim, ratio, sp, first)
		}
	}
}

// selectRows chooses for rows first.. of a span, a batch of rows at a time: all threads score, then all threads choose.
func (s *stream) selectRows(ids imat, q mat, heads, dim, ratio int, sp *metal.SelectSpan, first int) {
	var bank, fresh []float32
	if sp.Blocks > 0 {
		bank = vecOf(sp.Bank)
	}
	if sp.Scratch.Valid() {
		fresh = vecOf(sp.Scratch)
	}
	span, kernels := *sp, s.dev.kernels.simd()
	if rows := span.N - first; rows >= 4*s.workers.threads {
		// Many rows: each is one thread's from its first score to its choice.
		s.parallel(rows, 1, func(lo, hi int) {
			c := takeScratch((span.Pos + span.N) / ratio)
			defer c.free()
			for i := first + lo; i < first+hi; i++ {
				nb := (span.Pos + i + 1) / ratio
				scoreBlocks(kernels, c.f[:nb], q.row(span.Row+i), bank, fresh, 0, nb, span.Blocks, heads, dim)
				choose(ids.row(span.Row+i), c.f[:nb])
			}
		})
		return
	}
	for at := first; at < span.N; at += selectBatch {
		from, n := at, min(selectBatch, span.N-at)
		width := (span.Pos + from + n) / ratio
		chunks := (width + selectChunk - 1) / selectChunk
		c := takeScratch(n * width)
		scores := c.f
		grain := 1
		if min(width, selectChunk)*heads*dim < cheapGrain {
			grain = n * chunks
		}
		s.parallel(n*chunks, grain, func(lo, hi int) {
			for u := lo; u < hi; u++ {
				i := from + u/chunks
				nb := (span.Pos + i + 1) / ratio
				b0 := u % chunks * selectChunk
				b1 := min(b0+selectChunk, nb)
				row := scores[(u/chunks)*width:][:nb]
				v := q.row(span.Row + i)
				scoreBlocks(kernels, row, v, bank, fresh, b0, b1, span.Blocks, heads, dim)
			}
		})
		s.parallel(n, (cheapGrain+width-1)/width, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				nb := (span.Pos + from + i + 1) / ratio
				choose(ids.row(span.Row+from+i), scores[i*width:][:nb])
			}
		})
		c.free()
	}
}

// scoreBlocks sets row[b0:b1], the keys of blocks below split being in bank, the others in fresh.
func scoreBlocks(k simd, row, q, bank, fresh []float32, b0, b1, split, heads, dim int) {
	if mid := min(b1, split); b0 < mid {
		score(k, row[b0:mid], q, bank[b0*dim:], heads, dim)
	}
	if mid := max(b0, split); mid < b1 {
		score(k, row[mid:b1], q, fresh[(mid-split)*dim:], heads, dim)
	}
}

// score sets dst[b] = sum_h relu(<q_h, keys_b>) for len(dst) consecutive keys.
func score(k simd, dst, q, keys []float32, heads, dim int) {
	var room [selectDots]float32
	for from := 0; from < len(dst); from += selectDots {
		sum := dst[from:min(from+selectDots, len(dst))]
		dots := room[:len(sum)]
		clear(sum)
		for h := range heads {
			attendScores(k, dots, q[h*dim:][:dim], keys, []run{{from, len(sum)}}, dim, 1)
			for b, d := range dots {
				if d > 0 {
					sum[b] += d
				}
			}
		}
	}
}

// choose writes the ids of the len(ids) largest scores, ascending; ties go to the lowest id. Scores are not negative and
// not NaN, so their bits order as they do; len(ids) < len(scores). The threshold's bits are found 11, 11 and 10 at a time.
func choose(ids []int32, scores []float32) {
	var count [2048]int32
	var prefix, mask uint32
	need := int32(len(ids)) // how many of the values that match prefix belong to the top
	for _, digit := range [3]struct{ shift, bits uint }{{21, 11}, {10, 11}, {0, 10}} {
		clear(count[:])
		low := uint32(1)<<digit.bits - 1
		for _, v := range scores {
			if b := math.Float32bits(v); b&mask == prefix {
				count[b>>digit.shift&low]++
			}
		}
		d := low
		for count[d] < need {
			need -= count[d]
			d--
		}
		prefix |= d << digit.shift
		mask |= low << digit.shift
	}
	n := 0
	for b, v := range scores {
		switch bits := math.Float32bits(v); {
		case bits > prefix:
		case bits == prefix && need > 0:
			need--
		default:
			continue
		}
		ids[n] = int32(b)
		n++
	}
}
