//go:build !(linux && (amd64 || arm64))

package ple

import "io"

// aheadOf knows no file that tells bytes in memory from bytes on disk here: cold rows are read by several goroutines.
func aheadOf(io.ReaderAt) Ahead { return nil }
