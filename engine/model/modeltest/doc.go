// Package modeltest helps the tests of the model and of what is built on it: it opens packs on the CPU, reads golden
// vectors, and drives sequences through passes as the actors do.
package modeltest
