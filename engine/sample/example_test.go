package sample_test

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/sample"
)

func ExampleSampler_Sample() {
	p := sample.Defaults()
	p.TopK, p.Seed = 2, 42
	v := sample.NewVocab(4, func(id int32) bool { return id != 3 }) // id 3 has no token
	s := sample.New(p, v)
	row := []float32{1, 2, 1.5, 9}
	for pos := 10; pos < 14; pos++ {
		t, err := s.Sample(row, pos, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(t.ID, " ")
	}
	p.Temperature = 0
	t, _ := sample.New(p, v).Sample(row, 10, nil)
	fmt.Println("greedy", t.ID)
	// Output: 2 2 2 1 greedy 1
}
