package main

import (
	"fmt"
	"strconv"
)

// seed is a seed on the command line: every 64-bit integer, signed or not, as in requests, so that -1 is 18446744073709551615.
type seed uint64

// UnmarshalText implements encoding.TextUnmarshaler, by which kong reads a flag.
func (s *seed) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		*s = seed(n)
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("got %q, want a 64-bit integer", text)
	}
	*s = seed(n)
	return nil
}
