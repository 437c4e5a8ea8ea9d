package sample

import "testing"

// Known answers of Philox4x32-10 as published with the Random123 library.
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		name      string
		ctr, want [4]uint32
		key       [2]uint32
	}{
		{"zeros", [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, [2]uint32{}},
		{"ones", [4]uint32{ones, ones, ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, [2]uint32{ones, ones}},
		{"pi", [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, [2]uint32{0xa4093822, 0x299f31d0}},
	} {
		var got [4]uint32
		got[0], got[1], got[2], got[3] = philox(c.ctr[0], c.ctr[1], c.ctr[2], c.ctr[3], c.key[0], c.key[1])
		if got != c.want {
			t.Errorf("%s: philox(%x, %x) = %x, want %x", c.name, c.ctr, c.key, got, c.want)
		}
	}
}
