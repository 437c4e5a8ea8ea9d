package qsa_test

import (
	"fmt"

	"github.com/flashlane/flashlane/qsa"
)

// Which positions a query attends to: its best blocks and the tail, nothing forced.
func Example() {
	g := qsa.Geometry{Heads: 1, Dim: 2, Ratio: 4, Budget: 8, Eps: 1e-6}
	const t = 13 // 14 visible positions: blocks 0 to 2 and a tail of two
	fmt.Println("dense:", g.Dense(t+1))
	scores := make([]float32, g.Complete(t+1))
	qsa.ScoreRef(scores, []float32{1, 0}, []float32{-1, 0, 2, 0, -3, 5}, g)
	blocks := qsa.SelectRef(scores, g.Top())
	fmt.Println("scores", scores, "blocks", blocks)
	fmt.Println("positions", qsa.DenseRef(blocks, t, g))
	// Output:
	// dense: false
	// scores [0 2 0] blocks [0 1]
	// positions [0 1 2 3 4 5 6 7 12 13]
}
