package sample

// smallK is the largest k for which topK keeps a sorted list during one scan; above it the radix selection's three scans are cheaper.
// BenchmarkSample's top-k cases show the crossing.
const smallK = 64

// topK keeps the k highest logits; of equal ones at the boundary those with the lowest ids. Cost: one scan of the row for small k, else three.
func (s *Sampler) topK(f field, k int) field {
	if k > smallK {
		return s.cut(f, nil, uint64(k))
	}
	best := s.best.reset(k)
	for i, x := range f.vals {
		if x > best.floor {
			best.add(f.id(i), x)
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
