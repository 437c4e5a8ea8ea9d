package host

import (
	"bytes"
	"os"
	"strconv"
)

// Resident is this process's resident memory as the system counts it, and how much of it are pages of files (the program's
// own text, mapped tables), in bytes; 0 and 0 where the system does not tell.
func Resident() (all, files int64) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0
	}
	f := bytes.Fields(raw) // proc(5): size, resident, shared (file pages and shared memory), …
	if len(f) < 3 {
		return 0, 0
	}
	resident, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0, 0
	}
	shared, err := strconv.ParseInt(string(f[2]), 10, 64)
	if err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return resident * page, shared * page
}
