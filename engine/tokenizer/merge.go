package tokenizer

// merger applies the byte-pair merges to one word at a time.
type merger struct {
	bytes  [256]int32        // token of each single byte
	ranks  map[uint64]uint64 // left<<32|right -> rank<<32|merged
	whole  map[string]int32  // whole words taken as they are; nil unless the file sets ignore_merges
	cached *cache
}

// shortWord is the symbol count up to which scanning for the lowest rank beats a heap.
const shortWord = 48

func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

const noRank = ^uint64(0)

// rank is rank<<32|merged of a pair, noRank if the pair does not merge.
func (m *merger) rank(left, right int32) uint64 {
	if v, ok := m.ranks[pairKey(left, right)]; ok {
		return v
	}
	return noRank
}

// encode appends the ids of word to out.
func (m *merger) encode(out []int32, word string) []int32 {
	if len(word) == 1 {
		return append(out, m.bytes[word[0]])
	}
	if ids, ok := m.cached.get(word); ok {
		return append(out, ids...)
	}
	from := len(out)
	switch id, ok := m.whole[word]; {
	case ok:
		out = append(out, id)
	case len(word) <= shortWord:
		out = m.scan(out, word)
	default:
		out = m.heap(out, word)
	}
	m.cached.put(word, out[from:])
	return out
}

// scan merges a short word: it keeps the rank of each neighbouring pair and takes the lowest, leftmost first, until none merges.
// Quadratic in the symbols, of which there are at most shortWord.
func (m *merger) scan(out []int32, word string) []int32 {
	var symbols [shortWord]int32
	var ranks [shortWord]uint64
	n := len(word)
	for i := range n {
		symbols[i] = m.bytes[word[i]]
	}
	for i := range n - 1 {
		ranks[i] = m.rank(symbols[i], symbols[i+1])
	}
	for n > 1 {
		best, at := noRank, -1
		for i, r := range ranks[:n-1] {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		symbols[at] = int32(uint32(best))
		copy(symbols[at+1:n-1], symbols[at+2:n])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		if at > 0 {
			ranks[at-1] = m.rank(symbols[at-1], symbols[at])
		}
		if at < n-1 {
			ranks[at] = m.rank(symbols[at], symbols[at+1])
		}
	}
	return append(out, symbols[:n]...)
}
