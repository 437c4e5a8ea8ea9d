// Package body reads JSON request bodies strictly: what a client sends is either understood or refused by name.
//
// Parse turns bytes into a tree that keeps the order of members and the raw text of every value, and refuses what
// encoding/json lets pass: duplicate keys, invalid UTF-8, lone surrogates, excessive depth. A Reader then takes fields out
// of an object one by one, checks type and range, remembers the first error, and at Close refuses every member that
// nobody asked for. Each error is a *Error that names the field by its path ("messages[2].content[0].type").
//
//	root, err := body.Parse(data, body.Limits{Depth: 64})
//	r, err := body.Read(root, "")
//	temperature, given := r.Float("temperature", 0, 2)
//	err = r.Close()
//
// It knows JSON and nothing of any API: names, defaults and meanings are the caller's.
package body
