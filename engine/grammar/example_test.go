package grammar_test

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/grammar"
)

// letters is a vocabulary of single bytes and two stop ids.
type letters struct{}

func (letters) Size() int               { return 258 }
func (letters) Known(int32) bool        { return true }
func (letters) Added(id int32) bool     { return id > 255 }
func (letters) Piece(id int32) []byte   { return []byte{byte(id)} }
func (letters) ID(string) (int32, bool) { return 0, false }

func Example() {
	vocab, err := grammar.NewVocab(letters{}, 258) // once per model
	if err != nil {
		panic(err)
	}
	g, err := grammar.Compile([]byte(`{"enum": ["yes", "year", 7]}`), grammar.Options{}) // once per schema
	if err != nil {
		panic(err)
	}
	bound, err := vocab.Bind(g, []int32{256})
	if err != nil {
		panic(err)
	}
	s := grammar.NewSession(bound, nil) // once per request
	show := func(mask []uint64) {
		for id := range int32(258) {
			if mask[id/64]>>(id%64)&1 == 1 {
				if id == 256 {
					fmt.Print(" stop")
				} else {
					fmt.Printf(" %c", id)
				}
			}
		}
		fmt.Println()
	}
	rows := make([][]uint64, 4)
	for j := range rows {
		rows[j] = make([]uint64, vocab.Words())
	}
	_ = s.Commit('"', 'y')
	s.Allow([]int32{'e', 's', '"'}, rows) // the masks of a verify pass of width 4
	for _, row := range rows {
		show(row)
	}
	_, err = grammar.Compile([]byte(`{"type": "string", "pattern": "^a"}`), grammar.Options{})
	fmt.Println(err)
	// Output:
	//  e
	//  a s
	//  "
	//  stop
	// grammar: keyword "pattern" at "#": unsupported: this keyword cannot be enforced
}
