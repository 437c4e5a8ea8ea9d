// Package busy tells how much of the machine's processor time went to something else than what is measured: other processes
// and, where the system tells it, other guests of the host. It knows nothing of clocks that slow down by themselves.
package busy
