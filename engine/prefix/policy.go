package prefix

// Policy says at which lengths of a sequence a snapshot is worth its memory. It is a pure function of positions, so that
// all sequences that share a prefix take theirs at the same places. The zero value takes them at the two ends only.
type Policy struct {
	Every  int // tokens of prompt between snapshots; 0: none inside a prompt
	Decode int // generated tokens between snapshots, for rebuilds of long answers; 0: none before the end
	Least  int // the shortest length worth a snapshot
}

// Due reports whether to take a snapshot now that rows [from, to) have been committed, of a sequence whose first prompt
// tokens are its prompt; ended says that its turn is over. It is due
//
//   - inside the prompt at the first chunk boundary at or past each absolute multiple of Every,
//   - at the end of the prompt: the message boundary that the next turn shares even if it renders the answer differently,
//   - inside the answer after each absolute multiple of Decode,
//   - at the end of the turn.
func (p Policy) Due(from, to, prompt int, ended bool) bool {
	switch {
	case to <= from || to < max(1, p.Least):
		return false
	case ended || to == prompt:
		return true
	case to < prompt:
		return crosses(p.Every, from, to)
	}
	return crosses(p.Decode, from, to)
}

// crosses reports whether a multiple of every lies in (from, to].
func crosses(every, from, to int) bool { return every > 0 && from/every != to/every }
