package actors

// Need is what admission asks for a request of so many positions.
func (s *System) Need(positions int, drafts bool) int64 { return s.need(positions, drafts) }
