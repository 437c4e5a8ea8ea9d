// Package conform is the suite a device must pass to be one: [Run] checks every op of metal.Stream against a naive
// float64 reference, [Bench] times the same cases, and [Digests] hashes all results so that two kernel sets of one device kind can be
// compared bit for bit.
//
// Each op has one file here, named like its file in every device, with its tolerance (and the reason for it), its cases and its
// reference. A case is run in two layouts: packed, and as a view with odd offsets and strides whose gaps hold NaN (inputs)
// or a mark that must survive (outputs). Whatever the op, the suite then asks for row-exactness: every row computed alone
// and the rows cut in two must give the bits of all rows at once. Ops with a state have further checks in their files: a
// convolution cut in two passes, a delta rule run row by row or without output, selection against exact scores.
//
// The package knows no device. Axis letters are those of package metal.
package conform
