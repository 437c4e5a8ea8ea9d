package ops

import (
	"errors"
	"time"

	"github.com/flashlane/flashlane/metal"
)

// Device is a device whose streams are timed.
type Device struct {
	metal.Device
	Meter *Meter
	// Parts has fused ops done, and timed, as their parts: slower, but told apart. Set it before streams are made.
	Parts bool
}

// Wrap times the streams that are made from now on.
func Wrap(dev metal.Device) *Device {
	return &Device{Device: dev, Meter: &Meter{lines: map[key]*Line{}}}
}

// NewStream returns a *Stream.
func (d *Device) NewStream() metal.Stream {
	return &Stream{in: d.Device.NewStream(), meter: d.Meter, parts: d.Parts}
}

// Hold implements metal.Holder, with memory of Go's where the inner device lends none.
func (d *Device) Hold(bytes int64) ([]byte, func(), error) {
	if h, ok := d.Device.(metal.Holder); ok {
		return h.Hold(bytes)
	}
	return make([]byte, bytes), func() {}, nil
}

// Stream times the ops of another stream.
type Stream struct {
	in    metal.Stream
	meter *Meter
	parts bool
	err   error // of a Sync that the caller did not ask for
	ids   []int32
	begun time.Time
}

var _ metal.Stream = (*Stream)(nil)

func (s *Stream) begin() { s.begun = time.Now() }

// end waits for the op, so that its time is its own, and notes it.
func (s *Stream) end(op, what string, w work) {
	if err := s.in.Sync(); err != nil {
		s.err = errors.Join(s.err, err)
	}
	s.meter.add(op, what, w, time.Since(s.begun))
}

// failed gives back what an inner Sync said.
func (s *Stream) failed(err error) error {
	err = errors.Join(s.err, err)
	s.err = nil
	return err
}

// Cost of one element of a transcendental function (exp, with a division), in operations.
const hard = 8

func size(m metal.Mat) float64 { return float64(m.Rows) * float64(m.Cols) }

// moved is the bytes of so many 32-bit elements.
func moved(elements ...float64) (bytes float64) {
	for _, e := range elements {
		bytes += 4 * e
	}
	return bytes
}
