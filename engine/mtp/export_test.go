package mtp

import "github.com/flashlane/flashlane/qsa"

// Indexer lets tests settle the head's bank: the head itself does so only when it has to choose blocks.
func (h *Head) Indexer() *qsa.Indexer { return h.layer.Attention.Indexer }
