// Package probe asks this machine, through purego and without cgo, which GPU drivers it has and what they offer. It opens
// no context and changes nothing; a device that is not there is an answer, not an error.
package probe
