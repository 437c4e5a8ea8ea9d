// Package abba measures settings by turns: windows in mirror order (control, a, b, b, a, control), one series per seed, so
// that a drift of the machine falls on all alike, and every arm is compared with the controls around it.
//
// A window is guarded. Before it the server must be idle, the setting is put in force and read back. After it the prompt
// must have been as long as planned and prefilled from cold, the server must say that it ran under this setting, no actor
// may have restarted and no window of a lane may have failed over; lanes that are on must have worked, lanes that are off
// must not. Whatever is not so ends the run with an error: there is no figure that has to be explained away.
//
// The same seed must give the same digests in every window, whatever the setting. The digest of an empty text says nothing
// and counts as none.
package abba
