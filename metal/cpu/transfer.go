package cpu

import "github.com/flashlane/flashlane/metal"

// The ops that move values. Ops of this device run at once, so nothing is ever queued and Read, ReadInts and Sync have no error to
// report.

// Write copies host values to the device.
func (s *stream) Write(dst metal.Vec, src []float32) {
	if dst.N != len(src) {
		want(false, "Write", "dst [%d], src [%d]", dst.N, len(src))
	}
	if dst.N > 0 {
		copy(vecOf(dst), src)
	}
}

// Read copies len(dst) values to the host.
func (s *stream) Read(dst []float32, src metal.Vec) error {
	if src.N < len(dst) {
		want(false, "Read", "dst [%d], src [%d]", len(dst), src.N)
	}
	if len(dst) > 0 {
		copy(dst, vecOf(src))
	}
	return nil
}

// ReadInts is Read for I32 memory.
func (s *stream) ReadInts(dst []int32, src metal.Vec) error {
	if src.N < len(dst) {
		want(false, "ReadInts", "dst [%d], src [%d]", len(dst), src.N)
	}
	if len(dst) > 0 {
		copy(dst, intsOf(src))
	}
	return nil
}

// Copy copies src to dst, of the same length and type.
func (s *stream) Copy(dst, src metal.Vec) {
	if dst.N != src.N {
		want(false, "Copy", "dst [%d], src [%d]", dst.N, src.N)
	}
	switch {
	case dst.N == 0:
	case dst.Buf.DType() == metal.I32:
		copy(intsOf(dst), intsOf(src))
	default:
		copy(vecOf(dst), vecOf(src))
	}
}

// CopyRows copies src's rows to dst's rows, of the same shape and type.
func (s *stream) CopyRows(dst, src metal.Mat) {
	if dst.Rows != src.Rows || dst.Cols != src.Cols {
		want(false, "CopyRows", "dst [%d %d], src [%d %d]", dst.Rows, dst.Cols, src.Rows, src.Cols)
	}
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	if dst.Buf.DType() == metal.I32 {
		d, m := imatOf(dst), imatOf(src)
		for r := range m.rows {
			copy(d.row(r), m.row(r))
		}
		return
	}
	d, m := matOf(dst), matOf(src)
	for r := range m.rows {
		copy(d.row(r), m.row(r))
	}
}

// Zero clears dst.
func (s *stream) Zero(dst metal.Vec) {
	switch {
	case dst.N == 0:
	case dst.Buf.DType() == metal.I32:
		clear(intsOf(dst))
	default:
		clear(vecOf(dst))
	}
}

// Sync waits for queued work: there is none.
func (s *stream) Sync() error { return nil }
