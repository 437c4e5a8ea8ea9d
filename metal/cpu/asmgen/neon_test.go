package main

import (
	"fmt"
	"testing"
)

// TestEncodings compares encodings with what GNU as 2.40 makes of their text (-march=armv8.2-a+dotprod).
func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		e    encoding
		at   []int
		text string
		want uint32
	}{
		{fadd, []int{0, 1, 31}, "fadd v0.4s, v1.4s, v31.4s", 0x4e3fd420},
		{fsub, []int{7, 1, 30}, "fsub v7.4s, v1.4s, v30.4s", 0x4ebed427},
		{fmul, []int{31, 31, 31}, "fmul v31.4s, v31.4s, v31.4s", 0x6e3fdfff},
		{fdiv, []int{3, 2, 1}, "fdiv v3.4s, v2.4s, v1.4s", 0x6e21fc43},
		{fcmge, []int{3, 2, 1}, "fcmge v3.4s, v2.4s, v1.4s", 0x6e21e443},
		{fcmgt, []int{3, 2, 1}, "fcmgt v3.4s, v2.4s, v1.4s", 0x6ea1e443},
		{bic, []int{3, 2, 1}, "bic v3.16b, v2.16b, v1.16b", 0x4e611c43},
		{fneg, []int{3, 17}, "fneg v3.4s, v17.4s", 0x6ea0fa23},
		{scvtf, []int{3, 17}, "scvtf v3.4s, v17.4s", 0x4e21da23},
		{fcvtns, []int{3, 17}, "fcvtns v3.4s, v17.4s", 0x4e21aa23},
		{umaxv, []int{3, 17}, "umaxv s3, v17.4s", 0x6eb0aa23},
		{sshr, []int{3, 17, 1}, "sshr v3.4s, v17.4s, #1", 0x4f3f0623},
		{sshr, []int{3, 17, 8}, "sshr v3.4s, v17.4s, #8", 0x4f380623},
		{sshr, []int{3, 17, 32}, "sshr v3.4s, v17.4s, #32", 0x4f200623},
		{sxtl, []int{3, 17}, "sxtl v3.8h, v17.8b", 0x0f08a623},
		{bich, []int{3, 240}, "bic v3.8h, #240", 0x6f079603},
		{bich, []int{31, 15}, "bic v31.8h, #15", 0x6f0095ff},
		{fmlaE, []int{3, 17, 31, 0}, "fmla v3.4s, v17.4s, v31.s[0]", 0x4f9f1223},
		{fmlaE, []int{3, 17, 16, 1}, "fmla v3.4s, v17.4s, v16.s[1]", 0x4fb01223},
		{fmlaE, []int{3, 17, 9, 2}, "fmla v3.4s, v17.4s, v9.s[2]", 0x4f891a23},
		{fmlaE, []int{3, 17, 31, 3}, "fmla v3.4s, v17.4s, v31.s[3]", 0x4fbf1a23},
		{fmulE, []int{30, 17, 30, 3}, "fmul v30.4s, v17.4s, v30.s[3]", 0x4fbe9a3e},
		{fmulE, []int{30, 17, 1, 1}, "fmul v30.4s, v17.4s, v1.s[1]", 0x4fa1923e},
		{sdot, []int{3, 17, 31}, "sdot v3.4s, v17.16b, v31.16b", 0x4e9f9623},
		{sdotE, []int{3, 17, 31, 0}, "sdot v3.4s, v17.16b, v31.4b[0]", 0x4f9fe223},
		{sdotE, []int{3, 17, 16, 1}, "sdot v3.4s, v17.16b, v16.4b[1]", 0x4fb0e223},
		{sdotE, []int{30, 1, 15, 2}, "sdot v30.4s, v1.16b, v15.4b[2]", 0x4f8fe83e},
		{sdotE, []int{30, 1, 31, 3}, "sdot v30.4s, v1.16b, v31.4b[3]", 0x4fbfe83e},
		{smlalE, []int{3, 17, 15, 0}, "smlal v3.4s, v17.4h, v15.h[0]", 0x0f4f2223},
		{smlalE, []int{3, 17, 1, 1}, "smlal v3.4s, v17.4h, v1.h[1]", 0x0f512223},
		{smlalE, []int{3, 17, 2, 2}, "smlal v3.4s, v17.4h, v2.h[2]", 0x0f622223},
		{smlalE, []int{30, 31, 2, 4}, "smlal v30.4s, v31.4h, v2.h[4]", 0x0f422bfe},
		{smlalE, []int{30, 31, 15, 7}, "smlal v30.4s, v31.4h, v15.h[7]", 0x0f7f2bfe},
		{smlal2, []int{3, 17, 15, 0}, "smlal2 v3.4s, v17.8h, v15.h[0]", 0x4f4f2223},
		{smlal2, []int{3, 17, 15, 6}, "smlal2 v3.4s, v17.8h, v15.h[6]", 0x4f6f2a23},
	} {
		args := make([]any, len(c.at))
		for i, v := range c.at {
			args[i] = v
		}
		if got := fmt.Sprintf(c.e.text, args...); got != c.text {
			t.Errorf("text: got %q, want %q", got, c.text)
		}
		if got := c.e.word(c.at...); got != c.want {
			t.Errorf("%s: got %#08x, want %#08x", c.text, got, c.want)
		}
	}
}

// TestEncodingsAreChecked: an operand that does not fit never becomes another instruction.
func TestEncodingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		e  encoding
		at []int
	}{
		{fadd, []int{32, 0, 0}}, {fadd, []int{0, -1, 0}}, {fadd, []int{0, 0, 32}}, {fmlaE, []int{0, 0, 0, 4}}, {smlalE, []int{0, 0, 16, 0}},
		{smlalE, []int{0, 0, 0, 8}}, {sshr, []int{0, 0, 0}}, {sshr, []int{0, 0, 33}}, {bich, []int{0, 256}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s with %v: got no panic", c.e.text, c.at)
				}
			}()
			c.e.word(c.at...)
		}()
	}
}
