// Package housetest starts whole houses for tests: a pack on a device, the actors on top, and requests run to their end.
package housetest
