package main

import (
	"fmt"
	"runtime"
)

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run() error {
	fmt.Printf("flashlane %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
