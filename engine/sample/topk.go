package sample

import "math"

// smallK is the largest k for which topK keeps a sorted list during one scan; above it the radix selection's three scans are cheaper.
// BenchmarkSample's top-k cases show the crossing.
const smallK = 64

// topK keeps the k highest logits of the shaped row; of equal ones at the boundary those with the lowest ids. Cost: for small k one look
// at each block's highest value and one at each value of some k blocks, else three scans.
func (s *Sampler) topK(row []float32, k int) field {
	if k > smallK {
		return s.cut(field{vals: row}, nil, uint64(k))
	}
	// The k-th highest of the blocks' maxima is a bound: k values at least are not below it, so nothing below it can be among the k highest.
	best := s.best.reset(k)
	for b, x := range s.maxima {
		if x > best.floor {
			best.add(int32(b), x)
		}
	}
	bound := best.floor
	best.reset(k).floor = below(bound)
	for b, x := range s.maxima {
		if x <= best.floor {
			continue
		}
		at := b * block
		for i, x := range row[at:min(at+block, len(row))] {
			if x > best.floor {
				best.add(int32(at+i), x)
			}
		}
	}
	out := s.keep()
	for _, e := range best.list { // few: sort by id as they come
		at := len(out.ids)
		out.ids, out.vals = append(out.ids, e.id), append(out.vals, e.val)
		for ; at > 0 && out.ids[at-1] > e.id; at-- {
			out.ids[at], out.vals[at] = out.ids[at-1], out.vals[at-1]
		}
		out.ids[at], out.vals[at] = e.id, e.val
	}
	return s.settle(out)
}

// below is the next value below x; minus infinity is its own.
func below(x float32) float32 { return math.Nextafter32(x, negInf) }

// leaders is the list of the k highest values seen so far, highest first, lowest id first among equals, if ids are added in ascending order.
type leaders struct {
	k     int
	floor float32 // a value must be above it to enter
	list  []leader
}

type leader struct {
	id  int32
	val float32
}

func (l *leaders) reset(k int) *leaders {
	l.k, l.floor, l.list = k, negInf, l.list[:0]
	return l
}

// add inserts a value above l.floor behind all that are at least as high.
func (l *leaders) add(id int32, val float32) {
	if len(l.list) < l.k {
		l.list = append(l.list, leader{})
	}
	at := len(l.list) - 1
	for ; at > 0 && l.list[at-1].val < val; at-- {
		l.list[at] = l.list[at-1]
	}
	l.list[at] = leader{id, val}
	if len(l.list) == l.k {
		l.floor = l.list[l.k-1].val
	}
}
