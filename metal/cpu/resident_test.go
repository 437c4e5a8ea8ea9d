package cpu

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// residentPages is the process's resident memory in bytes, as the system tells it.
func residentPages(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(raw)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
