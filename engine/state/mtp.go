package state

import "github.com/flashlane/flashlane/metal"

// MTPCaches is what the MTP layer keeps of one sequence (spec 3.2, 3.3). Row p is built from the trunk's streams at
// position p and the token at p+1. The drafter owns it. Len counts the committed rows; while a draft is being chained
// the rows above it, and the bank's blocks above Len/ratio, belong to the draft and are dropped at its end.
type MTPCaches struct {
	Attention
	Len int

	dev   metal.Device
	limit int
}

// NewMTPCaches returns empty caches for at most limit positions.
func NewMTPCaches(dev metal.Device, shape AttentionShape, limit int) (*MTPCaches, error) {
	m := &MTPCaches{Attention: Attention{AttentionShape: shape}, dev: dev, limit: limit}
	if err := m.Attention.init(dev); err != nil {
		return nil, err
	}
	return m, nil
}

// Limit is the most rows the caches may ever hold: the context.
func (m *MTPCaches) Limit() int { return m.limit }

// Reserve makes room for so many rows; rows below keep are copied on st. On an error nothing has changed.
func (m *MTPCaches) Reserve(st metal.Stream, keep, rows int) error {
	return reserve(m.dev, st, []*Attention{&m.Attention}, keep, rows, m.limit)
}

// Truncate drops all rows from n on, and the blocks they completed.
func (m *MTPCaches) Truncate(n int) {
	m.Len = min(m.Len, n)
	m.Bank.Truncate(m.Index.Complete(n))
}

// Bytes is the device memory held.
func (m *MTPCaches) Bytes() int64 { return m.bytes() }
