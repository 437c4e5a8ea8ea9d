package ple

import (
	"errors"
	"runtime"
	"runtime/debug"
)

var errMapping = errors.New("the mapped file cannot be read any more (its disk failed, or it was cut short)")

// guard runs fn, which reads from a mapped file, and turns a fault into an error. A page that cannot be read (the disk
// failed, or the file was cut short) would end the process otherwise.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = faulted(v)
		}
	}()
	return fn()
}

// faulted is the error of a fault. Any other panic goes on.
func faulted(v any) error {
	_, ok := v.(runtime.Error)
	if _, fault := v.(interface{ Addr() uintptr }); !ok || !fault {
		panic(v)
	}
	return errMapping // what the runtime says of it speaks of nil pointers
}
