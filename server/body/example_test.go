package body_test

import (
	"fmt"

	"github.com/flashlane/flashlane/server/body"
)

func ExampleReader() {
	read := func(text string) {
		root, err := body.Parse([]byte(text), body.Limits{Depth: 8})
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := body.Read(root, "")
		if err != nil {
			fmt.Println(err)
			return
		}
		depth, given := r.Int("depth", 0, 7)
		if err := r.Close(); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(depth, given)
	}
	read(`{"depth": 3}`)
	read(`{}`)
	read(`{"depth": 9}`)
	read(`{"depth": 3, "detph": 2}`)
	// Output:
	// 3 true
	// 0 false
	// 'depth' must be between 0 and 7, got 9
	// 'detph' is not a known field here
}
