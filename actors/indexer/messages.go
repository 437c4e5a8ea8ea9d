package indexer

import (
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/gate"
)

// Committed tells an indexer that the sequence now has Len committed positions. The sender holds a reference on the
// sequence for it, which the indexer releases. Gate opens when the bank holds Len/ratio blocks.
type Committed struct {
	Ticket *round.Ticket
	Len    int
	Gate   *gate.Gate
}

// Fail opens the gate and gives the sequence back: the next pass settles the bank inline.
func (c Committed) Fail(err error) {
	c.Gate.Open(err)
	c.Ticket.Seq.Release()
}

// Blame names the request.
func (c Committed) Blame() string { return c.Ticket.Request }
