package block

import "github.com/flashlane/flashlane/metal"

// Spans is the span lists a pass reuses from layer to layer, so that a steady round allocates none.
type Spans struct {
	conv   []metal.ConvSpan
	tail   []metal.TailSpan
	delta  []metal.DeltaSpan
	sel    []metal.SelectSpan
	attend []metal.AttendSpan
	sparse []int
	to     [3]metal.LinearTo
}
