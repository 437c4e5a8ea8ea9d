package accountant

import (
	"bytes"
	"os"
	"strconv"
)

// read tells the process's resident memory as the system counts it, and how much of it are pages of files (the program's
// own text, mapped tables).
func read() (resident, files int64, ok bool) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, false
	}
	f := bytes.Fields(raw) // proc(5): size, resident, shared (file pages and shared memory), …
	if len(f) < 3 {
		return 0, 0, false
	}
	all, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	shared, err := strconv.ParseInt(string(f[2]), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	page := int64(os.Getpagesize())
	return all * page, shared * page, true
}
