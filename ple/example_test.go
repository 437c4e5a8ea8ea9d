package ple_test

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// The row ids of two tokens, and their rows through a cache.
func Example() {
	g := ple.Geometry{Vocab: 311, NgramSize: 3, Heads: 1, Base: 5, Divisor: 4, EOS: 9, Dim: 4}
	constants, err := ple.Derive(g, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	hash, err := ple.NewHash(g, constants)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("sizes", constants.Sizes, "rows", constants.Rows(g.Divisor))

	data := make([]byte, 12*2*2) // 12 rows of 2 bf16 values
	for row := range 12 {
		data[row*4], data[row*4+1] = 0x80, 0x3f // 1.0
	}
	table, err := ple.OpenTable(ple.TableSpec{Name: "toy", Rows: 12, Dim: 2, Format: metal.FormatBF16,
		Shards: []ple.Shard{{Rows: 12, Weight: ple.Span{Data: data, Len: int64(len(data))}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	cache, err := ple.NewCache(table, 1<<10, ple.CacheOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := make([]int64, 2*hash.PerRow())
	hash.IDs(ids, []int32{4}, []int32{17, 42})
	raw, row := make([]byte, len(ids)*table.RowBytes()), make([]float32, table.Dim())
	if err := cache.Gather(context.Background(), new(ple.Scratch), raw, ids); err != nil {
		fmt.Println(err)
		return
	}
	table.Dequant(row, raw[:table.RowBytes()])
	fmt.Println("values", row, "bytes read", cache.Stats().Bytes > 0)
	// Output:
	// sizes [5 7] rows 12
	// values [1 0] bytes read true
}
