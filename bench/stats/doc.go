// Package stats has the arithmetic of measurements as pure functions: percentiles, the comparison of windows that are
// bracketed by controls, and the rules of a verdict. It knows no unit, no clock and no server.
package stats
