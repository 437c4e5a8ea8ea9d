// Package bus is the house's event stream: supervision, lane switches and rounds, told to whoever listens (GET /v1/events,
// tests). Publishing never blocks: a listener that does not keep up loses events and is told how many.
package bus
