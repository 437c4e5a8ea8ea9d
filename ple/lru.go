package ple

// lru holds the newest rows up to a fixed number of them: an intrusive list over nodes in one slice, records in slabs and
// an open-addressing index. Once it is full nothing is allocated any more. It is not safe for concurrent use; a record
// handed out is valid until the next call that changes the list.
type lru struct {
	record int // bytes of a row's record
	max    int // rows
	nodes  []node
	slabs  [][]byte
	perLog uint    // a slab holds 1<<perLog records
	index  []int32 // node number + 1, 0 = free; length a power of two, at most half full
	newest int32
	oldest int32
}

// node is one cached row; its record is record i of the slabs, i its number.
type node struct {
	id           int64
	newer, older int32
}

const none = int32(-1)

// rowOverhead is the bookkeeping of one cached row: a node (16 bytes) and two to four index slots, counted as two.
const rowOverhead = 16 + 8

// slabBytes bounds a slab, so that a small cache, or one that stays nearly empty, holds little memory.
const slabBytes = 1 << 18

func newLRU(record, max int) *lru {
	l := &lru{record: record, max: max, newest: none, oldest: none}
	for record<<(l.perLog+1) <= slabBytes && 1<<(l.perLog+1) <= max {
		l.perLog++
	}
	l.index = make([]int32, 16)
	return l
}

func (l *lru) len() int { return len(l.nodes) }

// bytes is the memory now held.
func (l *lru) bytes() int64 {
	return int64(len(l.slabs))*int64(l.record)<<l.perLog + int64(cap(l.nodes))*16 + int64(len(l.index))*4
}

// most is the memory held when it is full: whole slabs, nodes with the slack of a slice that grew by a quarter at most, and an
// index that is a power of two.
func (l *lru) most() int64 {
	index := int64(len(l.index))
	for index < 2*int64(l.max) {
		index *= 2
	}
	slabs := int64(l.max+1<<l.perLog-1) >> l.perLog
	return slabs*int64(l.record)<<l.perLog + (int64(l.max)*5/4+512)*16 + index*4
}

// data is node n's record.
func (l *lru) data(n int32) []byte {
	slab, at := l.slabs[n>>l.perLog], int(n)&(1<<l.perLog-1)*l.record
	return slab[at : at+l.record : at+l.record]
}

// find returns the node of a row, or none.
func (l *lru) find(id int64) int32 {
	mask := uint64(len(l.index) - 1)
	for s := hashID(id) & mask; ; s = (s + 1) & mask {
		n := l.index[s] - 1
		if n < 0 || l.nodes[n].id == id {
			return n
		}
	}
}

// touch makes node n the newest.
func (l *lru) touch(n int32) {
	if l.newest == n {
		return
	}
	l.unlink(n)
	l.push(n)
}

// put adds a row that is not there as the newest and drops the oldest if there is no room.
func (l *lru) put(id int64, record []byte) {
	var n int32
	if len(l.nodes) < l.max {
		n = int32(len(l.nodes))
		if int(n)>>l.perLog == len(l.slabs) {
			l.slabs = append(l.slabs, make([]byte, l.record<<l.perLog))
		}
		l.nodes = append(l.nodes, node{})
		if 2*len(l.nodes) > len(l.index) {
			l.regrow()
		}
	} else {
		n = l.oldest
		l.unlink(n)
		l.forget(l.nodes[n].id)
	}
	l.nodes[n].id = id
	l.push(n)
	l.remember(id, n)
	copy(l.data(n), record)
}

// push links node n in as the newest.
func (l *lru) push(n int32) {
	l.nodes[n].newer, l.nodes[n].older = none, l.newest
	if l.newest != none {
		l.nodes[l.newest].newer = n
	} else {
		l.oldest = n
	}
	l.newest = n
}

// unlink takes node n out of the list.
func (l *lru) unlink(n int32) {
	newer, older := l.nodes[n].newer, l.nodes[n].older
	if newer != none {
		l.nodes[newer].older = older
	} else {
		l.newest = older
	}
	if older != none {
		l.nodes[older].newer = newer
	} else {
		l.oldest = newer
	}
}

// remember adds a row to the index.
func (l *lru) remember(id int64, n int32) {
	mask := uint64(len(l.index) - 1)
	s := hashID(id) & mask
	for l.index[s] != 0 {
		s = (s + 1) & mask
	}
	l.index[s] = n + 1
}

// forget takes a row that is there out of the index, moving later entries of the probe run back over the hole, so that
// no marks of deleted entries pile up.
func (l *lru) forget(id int64) {
	mask := uint64(len(l.index) - 1)
	hole := hashID(id) & mask
	for l.nodes[l.index[hole]-1].id != id {
		hole = (hole + 1) & mask
	}
	for s := (hole + 1) & mask; l.index[s] != 0; s = (s + 1) & mask {
		home := hashID(l.nodes[l.index[s]-1].id) & mask
		// The entry may move if its home is not between the hole and itself.
		if (s-home)&mask >= (s-hole)&mask {
			l.index[hole] = l.index[s]
			hole = s
		}
	}
	l.index[hole] = 0
}

// regrow doubles the index. The node just appended is not in it yet.
func (l *lru) regrow() {
	l.index = make([]int32, 2*len(l.index))
	for i := range l.nodes[:len(l.nodes)-1] {
		l.remember(l.nodes[i].id, int32(i))
	}
}

// hashID spreads row ids, which are runs of primes apart, over the index.
func hashID(id int64) uint64 {
	h := uint64(id) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}
