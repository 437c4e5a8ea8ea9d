package prefix

import (
	"context"

	"github.com/flashlane/flashlane/metal"
)

// Fetch is Lookup in a tree and, where the disk has a longer prefix, a load from there into the tree. It copies memory and
// reads files, so it belongs on a worker. disk may be nil. A failure of the disk, or no room in the tree, is no error: what
// the tree has is returned, and why tells what happened, nil if nothing did.
func Fetch(ctx context.Context, st metal.Stream, dev metal.Device, tree *Tree, disk *Disk, ids []int32, w Want) (h *Handle, n int, why error) {
	h, n = tree.Lookup(ids, w)
	if disk == nil {
		return h, n, nil
	}
	stored := disk.Lookup(ids, w)
	if stored <= n {
		return h, n, nil
	}
	// What the parent brings is not read again; one that cannot draft brings less.
	s, err := disk.Load(ctx, st, dev, ids[:stored], w, LoadOptions{Parent: h.Snapshot(), Account: tree})
	if err != nil {
		return h, n, err
	}
	loaded, err := tree.Insert(ids[:stored], s)
	if err != nil {
		return h, n, err
	}
	h.Release()
	return loaded, stored, nil
}
