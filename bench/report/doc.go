// Package report writes what was measured: tables that read well as text and as Markdown, the machine it was measured on,
// and one file each for Markdown, JSON and SVG.
package report
