// Package e2e holds tests only: the official clients of both wires, Go and JavaScript, against the real binary.
//
// It is a module of its own, because those clients are slow to build and nobody who builds flashlane needs them. FLASHLANE_BIN names the
// binary to test; without it the tests build one from the tree. Every test uses the server that TestMain started on a free
// loopback port, and the JavaScript tests under npm start one of their own.
package e2e
