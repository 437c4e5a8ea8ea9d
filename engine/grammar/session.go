package grammar

import "fmt"

// Session is one request's place in its grammar: after the committed tokens. The verifier owns one; the drafter takes a Matcher from it. One goroutine at a time.
type Session struct {
	at, row Matcher
	count   int
}

// Commit goes on over emitted tokens. An id that is not allowed, which means that it was sampled without the mask, is an error that wraps ErrToken; the session then stands before it.
func (s *Session) Commit(ids ...int32) error {
	for _, id := range ids {
		if !s.at.Accept(id) {
			return fmt.Errorf("grammar: output token %d, id %d: %w", s.count, id, ErrToken)
		}
		s.count++
	}
	return nil
}

// Allow fills rows[j] with the mask after the committed tokens and the first j drafts, for verify.Row.Allow, or sets it to nil where any id may come.
// There is one row more than drafts. After a draft that is not allowed, which no sample will equal, rows only hold the stop ids: nothing looks at them.
func (s *Session) Allow(drafts []int32, rows [][]uint64) {
	if len(rows) != len(drafts)+1 {
		panic(fmt.Sprintf("grammar: %d rows for %d drafts", len(rows), len(drafts)))
	}
	s.row.Set(&s.at)
	mask := func(j int) {
		if s.row.Any() {
			rows[j] = nil
		} else {
			s.row.Mask(rows[j])
		}
	}
	mask(0)
	for j, id := range drafts {
		if !s.row.ended && !s.row.Accept(id) {
			s.row.ended = true
		}
		mask(j + 1)
	}
}

// Matcher returns a matcher after the committed tokens, independent of the session.
func (s *Session) Matcher() *Matcher { return s.at.Clone() }

// Done reports whether the committed text is a whole document.
func (s *Session) Done() bool { return s.at.Done() }

// Clone returns an independent session at the same place.
func (s *Session) Clone() *Session { return &Session{at: *s.at.Clone(), count: s.count} }
