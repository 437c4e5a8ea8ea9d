package cpu

import (
	"math"
	"math/bits"

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
	var room [4 * selectDots]float32
	for from := 0; from < len(dst); from += selectDots {
		sum := dst[from:min(from+selectDots, len(dst))]
		n := len(sum)
		dots, runs := room[:4*n], [1]run{{from, n}}
		clear(sum)
		for h := 0; h < heads; {
			if heads-h >= 4 && groupScores(k, dots, q[h*dim:], keys, runs[:], dim, dim, n, 1) {
				for range 4 {
					addPositive(k, sum, dots)
					dots = dots[n:]
				}
				dots = room[:4*n]
				h += 4
				continue
			}
			attendScores(k, dots[:n], q[h*dim:][:dim], keys, runs[:], dim, 1)
			addPositive(k, sum, dots)
			h++
		}
	}
}

// addPositive adds those of the first len(sum) dots that are above 0.
func addPositive(k simd, sum, dots []float32) {
	dots = dots[:len(sum)]
	for b := headPositive(k, sum, dots); b < len(sum); b++ {
		if d := dots[b]; d > 0 {
			sum[b] += d
		}
	}
}

const (
	chooseFew  = 4096 // scores up to which
	fewBits    = 8    // so many bits are counted at a time, and beyond
	chooseBits = 11   // so many
)

// choose writes the ids of the len(ids) largest scores, ascending; ties go to the lowest id. Scores are not negative and
// not NaN, so their bits order as they do; len(ids) < len(scores). The threshold's bits are found some at a time, from the first in which scores
// differ on, until all scores that begin with them belong to the top or the last bit is known.
func choose(ids []int32, scores []float32) {
	if len(scores) > chooseFew {
		var counts [1 << chooseBits]int32
		chooseBy(ids, scores, counts[:], chooseBits)
		return
	}
	var counts [1 << fewBits]int32
	chooseBy(ids, scores, counts[:], fewBits)
}

// chooseBy is choose with room for the counts of so many bits.
func chooseBy(ids []int32, scores []float32, counts []int32, most int) {
	first, differ := math.Float32bits(scores[0]), uint32(0)
	for _, v := range scores {
		differ |= math.Float32bits(v) ^ first
	}
	shift := bits.Len32(differ)
	mask := ^uint32(0) << shift                       // of the bits of the threshold that are known,
	prefix := first & mask                            // which are these
	need, have := int32(len(ids)), int32(len(scores)) // of the scores that begin with prefix: belong to the top, and are there
	for shift > 0 && need < have {
		step := min(shift, most)
		shift -= step
		low := uint32(1)<<step - 1
		count := counts[:low+1]
		clear(count)
		for _, v := range scores {
			if b := math.Float32bits(v); b&mask == prefix {
				count[b>>shift&low]++
			}
		}
		d := low
		for count[d] < need {
			need -= count[d]
			d--
		}
		have = count[d]
		prefix |= d << shift
		mask |= low << shift
	}
	n := 0
	for b, v := range scores {
		if n == len(ids) {
			break
		}
		ids[n] = int32(b)
		top := math.Float32bits(v) & mask
		take := (prefix - top - 1) >> 31 // 1 from prefix on; no branch, since about every second score is taken
		if top == prefix && need < have {
			if need == 0 {
				take = 0
			} else {
				need, have = need-1, have-1
			}
		}
		n += int(take)
	}
}
