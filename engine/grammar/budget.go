package grammar

// Budget bounds an answer's reasoning, for requests whose prompt ends inside of "<think>": after so many tokens of it the ids of End are
// all that is allowed, one after the other, and then the answer goes on. What is forced follows from the tokens before it alone, so that an
// answer is the same at any depth. It may stand beside a grammar or alone. Reasoning is taken to be over at the first Close, quoted or not.
type Budget struct {
	Tokens int     `json:"tokens"` // of reasoning, those of End that belong to it included
	End    []int32 `json:"end"`    // a line end, the tag that ends reasoning and a blank line: nothing before them can make them a quotation
	Close  int32   `json:"close"`  // the tag
}

// NewSession begins a request that has a grammar, a budget or both: the other is nil. Tokens of the prompt do not belong to the text.
func NewSession(b *Bound, budget *Budget) *Session {
	s := &Session{}
	if b != nil {
		s.at = *b.Start()
	}
	s.at.budget = budget
	return s
}

// Replay returns a session after the given committed tokens: what rebuilding a request from its ledger needs. Errors are those of Commit.
func Replay(b *Bound, budget *Budget, committed []int32) (*Session, error) {
	s := NewSession(b, budget)
	return s, s.Commit(committed...)
}

// spending is how far an answer is with its budget.
type spending struct {
	budget *Budget // nil: none
	spent  int     // tokens so far that were not forced
	forced int     // of budget.End
	over   bool    // reasoning has ended
}

// next is the id that the budget forces now, -1 if it forces none. Where the grammar cannot go on with it, as in the midst of a character,
// it waits.
func (m *Matcher) next() int32 {
	b := m.budget
	if b == nil || m.over || m.forced == 0 && m.spent < b.Tokens-len(b.End) {
		return -1
	}
	id := b.End[m.forced]
	if m.b != nil && !m.Clone().accept(id) {
		return -1
	}
	return id
}

// spend notes an accepted token.
func (m *Matcher) spend(id int32, forced bool) {
	switch b := m.budget; {
	case b == nil || m.over:
	case forced:
		m.forced++
		m.over = m.forced == len(b.End)
	default:
		m.spent++
		m.over = id == b.Close
	}
}

// Any reports whether every id may come next: there is no grammar, and the budget forces nothing.
func (m *Matcher) Any() bool { return m.b == nil && (m.ended || m.next() < 0) }
