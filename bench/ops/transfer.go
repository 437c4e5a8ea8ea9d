package ops

import "github.com/flashlane/flashlane/metal"

// Write times metal.Stream.Write.
func (s *Stream) Write(dst metal.Vec, src []float32) {
	s.begin()
	s.in.Write(dst, src)
	s.end("Write", "", work{bytes: moved(2 * float64(len(src)))})
}

// Read times metal.Stream.Read.
func (s *Stream) Read(dst []float32, src metal.Vec) error {
	s.begin()
	err := s.in.Read(dst, src)
	s.end("Read", "", work{bytes: moved(2 * float64(len(dst)))})
	return s.failed(err)
}

// ReadInts times metal.Stream.ReadInts.
func (s *Stream) ReadInts(dst []int32, src metal.Vec) error {
	s.begin()
	err := s.in.ReadInts(dst, src)
	s.end("ReadInts", "", work{bytes: moved(2 * float64(len(dst)))})
	return s.failed(err)
}

// Copy times metal.Stream.Copy.
func (s *Stream) Copy(dst, src metal.Vec) {
	s.begin()
	s.in.Copy(dst, src)
	s.end("Copy", "", work{bytes: moved(2 * float64(src.N))})
}

// CopyRows times metal.Stream.CopyRows.
func (s *Stream) CopyRows(dst, src metal.Mat) {
	s.begin()
	s.in.CopyRows(dst, src)
	s.end("CopyRows", "", work{rows: src.Rows, bytes: moved(2 * size(src))})
}

// Zero times metal.Stream.Zero.
func (s *Stream) Zero(dst metal.Vec) {
	s.begin()
	s.in.Zero(dst)
	s.end("Zero", "", work{bytes: moved(float64(dst.N))})
}

// Sync waits for the wrapped stream; every op was waited for already.
func (s *Stream) Sync() error { return s.failed(s.in.Sync()) }
