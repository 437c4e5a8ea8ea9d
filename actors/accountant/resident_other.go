//go:build !linux

package accountant

// read: the system is not asked here.
func read() (resident, files int64, ok bool) { return 0, 0, false }
