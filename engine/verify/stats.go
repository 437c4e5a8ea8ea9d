package verify

// MaxDepth is the deepest draft that Stats counts on its own: a round has at most 8 rows.
const MaxDepth = 7

// Stats counts rounds and the fate of drafts by depth (index 0 is the first draft of a round). The zero value is ready. Not safe for concurrent use: each owner counts its own and Merge adds them.
type Stats struct {
	Rounds   uint64
	Emitted  uint64           // tokens of all rounds
	Drafted  [MaxDepth]uint64 // drafts that entered a verify pass
	Judged   [MaxDepth]uint64 // of these, drafts whose row was reached: all drafts before were accepted and neither stop nor limit came first
	Accepted [MaxDepth]uint64 // of these, accepted and emitted
}

// Observe counts one round that had drafted drafts and emitted r. Depths past MaxDepth are not counted by depth.
func (s *Stats) Observe(drafted int, r Result) {
	s.Rounds++
	s.Emitted += uint64(len(r.Tokens))
	for d := range min(drafted, MaxDepth) {
		s.Drafted[d]++
		if d < len(r.Tokens) {
			s.Judged[d]++
		}
		if d < r.Accepted {
			s.Accepted[d]++
		}
	}
}

// Merge adds o.
func (s *Stats) Merge(o Stats) {
	s.Rounds += o.Rounds
	s.Emitted += o.Emitted
	for d := range MaxDepth {
		s.Drafted[d] += o.Drafted[d]
		s.Judged[d] += o.Judged[d]
		s.Accepted[d] += o.Accepted[d]
	}
}

// Rate is the share of judged drafts at depth d (from 0) that were accepted; 0 when none was judged.
func (s *Stats) Rate(d int) float64 { return ratio(s.Accepted[d], s.Judged[d]) }

// TokensPerRound is the mean of tokens emitted by a round; 0 when there was none.
func (s *Stats) TokensPerRound() float64 { return ratio(s.Emitted, s.Rounds) }

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
