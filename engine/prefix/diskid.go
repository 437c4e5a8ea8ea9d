package prefix

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/flashlane/flashlane/engine/state"
)

// id names content: a hash of all that its bits depend on.
type id [32]byte

// diskVersion is part of every id and of the file's schema: a change of what is stored makes old files unreadable.
const diskVersion = 1

func (d *Disk) hash(what string, ids []int32, numbers ...int) id {
	h := sha256.New()
	fmt.Fprintf(h, "flashlane snapshot %d\n%s\n%s %v\n", diskVersion, d.model, what, numbers)
	b := make([]byte, 0, 4*len(ids))
	for _, t := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	h.Write(b)
	return id(h.Sum(nil))
}

// name is the id of a snapshot.
func (d *Disk) name(ids []int32, class int, drafts bool) id {
	what := "snapshot"
	if drafts {
		what = "drafting snapshot"
	}
	return d.hash(what, ids, class)
}

// names is the ids of a snapshot's parts, in the order of state.Outline.
func (d *Disk) names(ids []int32, o *state.Outline) []id {
	class := func(n int) int { return state.ClassKey(d.sep, o.Prompt, n) }
	out := []id{d.hash("states", ids, class(o.Len), o.Drafted, o.Width)}
	for _, r := range o.Rows {
		out = append(out, d.hash("rows", ids[:r.To], append([]int{class(r.To), r.From}, r.Blocks...)...))
	}
	for _, r := range o.DraftRows { // row To-1 is built from the token after it
		out = append(out, d.hash("drafts", ids[:r.To+1], append([]int{class(r.To + 1), r.From}, r.Blocks...)...))
	}
	return out
}
