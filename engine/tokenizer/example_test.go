package tokenizer

import (
	"fmt"
	"os"
)

func ExampleTokenizer() {
	raw, err := os.ReadFile(nanoDir() + "/tokenizer.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	tok, err := Load(raw, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := tok.Encode("<|im_start|>user\nHi<|im_end|>\n")
	fmt.Println(ids, err)
	fmt.Printf("%q %q\n", tok.Decode(ids, true), tok.Decode(ids, false))
	// Output:
	// [8184 357 198 5983 8185 198] <nil>
	// "user\nHi\n" "<|im_start|>user\nHi<|im_end|>\n"
}
