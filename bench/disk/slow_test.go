package disk

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/flashlane/flashlane/ple/pletest"
)

// TestSlow: pages are served one after another from when they were asked for; bytes in memory come at once.
func TestSlow(t *testing.T) {
	data := make([]byte, 10*page)
	for i := range data {
		data[i] = byte(i / 7)
	}
	warm := int64(8 * page) // from here on
	file := &pletest.Ahead{Reader: pletest.Reader{Data: data}, Cold: func(off int64, _ int) bool { return off < warm }}
	s, err := NewSlow(file, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Unix(100, 0)
	s.now = func() time.Time { return clock }
	s.wait = func(d time.Duration) { clock = clock.Add(d) }
	spent := func(what string, want time.Duration, do func()) {
		t.Helper()
		before := clock
		do()
		if got := clock.Sub(before); got != want {
			t.Errorf("%s: took %v, want %v", what, got, want)
		}
	}
	read := func(off int64, n int) func() {
		return func() {
			t.Helper()
			p := make([]byte, n)
			if got, err := s.ReadAt(p, off); got != n || err != nil || !bytes.Equal(p, data[off:off+int64(n)]) {
				t.Errorf("read at %d: got %d bytes, %v", off, got, err)
			}
		}
	}
	spent("a cold page", time.Millisecond, read(5, 80))
	spent("across two", 2*time.Millisecond, read(2*page-5, 10))
	spent("in memory", 0, read(warm+3, 80))
	spent("asking", 0, func() {
		for i := range int64(3) {
			s.Fetch((3+i)*page, 80)
			if ok, err := s.ReadNow(make([]byte, 80), (3+i)*page); ok || err != nil {
				t.Errorf("a page on its way: got %v, %v", ok, err)
			}
		}
	})
	spent("the third that was asked for", 3*time.Millisecond, read(5*page, 80))
	spent("the first, which has come, though the file below says cold again", 0, read(3*page, 80))
	spent("the first again, which was dropped since", time.Millisecond, read(3*page, 80))
	file.Cold = nil
	spent("everything in memory", 0, read(4*page, 80))
	if s.Unwrap() == nil {
		t.Error("no file below")
	}
	if _, err := NewSlow(bytes.NewReader(nil), time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a reader that cannot tell: got %v", err)
	}
}
