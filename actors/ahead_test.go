package actors_test

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/ple"
)

// stage is a house whose table reads and passes stop where a test wants them to: it tells what happens before what, and
// never how long anything took.
type stage struct {
	t      *testing.T
	bundle *bundle.Bundle

	read  func()       // before each read of the table
	drawn func()       // before the drafter reads the logits of a step
	ended func()       // when the trunk has run all layers of a pass
	reads atomic.Int64 // of the table
	fail  atomic.Pointer[func() error]
}

// tableFile is the n-gram table's file.
type tableFile struct {
	io.ReaderAt
	s *stage
}

func (f tableFile) Unwrap() io.ReaderAt { return f.ReaderAt }

func (f tableFile) ReadAt(p []byte, off int64) (int, error) {
	f.s.reads.Add(1)
	if f.s.read != nil {
		f.s.read()
	}
	if fail := f.s.fail.Load(); fail != nil {
		if err := (*fail)(); err != nil {
			return 0, err
		}
	}
	return f.ReaderAt.ReadAt(p, off)
}

// watched is a device whose streams tell the stage when they are waited for.
type watched struct {
	metal.Device
	s *stage
}

func (d watched) NewStream() metal.Stream { return watchedStream{d.Device.NewStream(), d.s} }

type watchedStream struct {
	metal.Stream
	s *stage
}

func (w watchedStream) Read(dst []float32, src metal.Vec) error {
	if w.s.drawn != nil && called("engine/mtp.(*Pass)") {
		w.s.drawn()
	}
	return w.Stream.Read(dst, src)
}

func (w watchedStream) Sync() error {
	if w.s.ended != nil && strings.HasSuffix(callers()[0], "engine/model.(*Pass).Run") {
		w.s.ended()
	}
	return w.Stream.Sync()
}

// called reports whether the caller of a stream's method, or a caller of it, has that name.
func called(name string) bool {
	return slices.ContainsFunc(callers(), func(f string) bool { return strings.Contains(f, name) })
}

// callers names who called a stream's method, nearest first.
func callers() (names []string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	inside := true
	for {
		f, more := frames.Next()
		if here := strings.HasSuffix(f.File, "ahead_test.go"); !here || !inside {
			inside = false
			names = append(names, f.Function)
		}
		if !more {
			return names
		}
	}
}

// newStage opens a tiny pack whose rows are read from a file each time.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t}
	src, err := pack.Dir(tinyPack(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.bundle, err = bundle.Open(p, watched{dev, s}, bundle.Options{Placement: ple.File, PLECache: -1,
		TableFile: func(f io.ReaderAt) io.ReaderAt { return tableFile{f, s} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.bundle.Close(), dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer runs one request in a house of its own, with the lanes on or off.
func (s *stage) answer(prompt []int32, tokens int, on bool) ([]int32, *actors.System) {
	s.t.Helper()
	c := housetest.Config(s.bundle)
	c.StopIDs, c.Chunk, c.FixedDepth = nil, 16, true
	h := housetest.Start(s.t, c)
	for _, l := range h.Lanes() {
		if _, err := h.SetLane(s.t.Context(), l.Name, on); err != nil {
			s.t.Fatal(err)
		}
	}
	a := housetest.Run(s.t.Context(), h, housetest.Request(prompt, tokens), nil)
	if a.Err != nil {
		s.t.Fatal(a.Err)
	}
	return a.IDs(), h
}

// until waits for a channel, or fails the test: what was to come first never came.
func (s *stage) until(c <-chan struct{}, what string) {
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		s.t.Errorf("waited in vain: %s", what)
	}
}

// TestReadsBeginBesideDraft: with the lane on, the rows of a round's tokens are being read while the drafter still drafts,
// so before any pass of the verifier can ask for the plane. From the first step of the first round on reads stop; the
// second step waits for a read to have begun, and only the third lets reads go on.
func TestReadsBeginBesideDraft(t *testing.T) {
	s := newStage(t)
	prompt := prompts(256)[1]
	want, _ := s.answer(prompt, 12, false)

	var armed atomic.Bool
	var steps atomic.Int64
	var told sync.Once
	reading, release := make(chan struct{}), make(chan struct{})
	s.read = func() {
		if armed.Load() {
			told.Do(func() { close(reading) })
			s.until(release, "the drafter's third step, while a read waits")
		}
	}
	s.drawn = func() {
		switch steps.Add(1) {
		case 1:
			armed.Store(true)
		case 2:
			s.until(reading, "a read of the round's rows, while the drafter drafts")
		case 3: // the round is still the drafter's
			close(release)
		}
	}
	got, h := s.answer(prompt, 12, true)
	if steps.Load() < 3 {
		t.Fatalf("the drafter made %d steps", steps.Load())
	}
	if !slices.Equal(got, want) {
		t.Errorf("with reads held up: got %v, want %v as without the lane", got, want)
	}
	if l := h.Lanes()[0]; l.Windows == 0 || l.Misses == 0 || l.FailOver != 0 {
		t.Errorf("lane: got %+v, want windows of rows that were read and no fail-over", l)
	}
}

// TestPrefillReadsOneChunkAhead: when the trunk has run a chunk, the rows of the next are being read, or have been, and
// none of the one after it.
func TestPrefillReadsOneChunkAhead(t *testing.T) {
	s := newStage(t)
	prompt := prompts(256)[2]
	want, _ := s.answer(prompt, 2, false)

	var after []int64 // reads when all chunks so far have been read
	hash, sum := s.bundle.Model.PLE[0].Hash, int64(0)
	for at := 0; at < len(prompt); at += 16 {
		to := min(at+16, len(prompt))
		ids := make([]int64, (to-at)*hash.PerRow())
		hash.IDs(ids, prompt[:at], prompt[at:to])
		slices.Sort(ids)
		sum += int64(len(slices.Compact(ids)))
		after = append(after, sum)
	}
	s.reads.Store(0)
	more := make(chan struct{}, 1<<16)
	s.read = func() { more <- struct{}{} }
	chunk := 0
	s.ended = func() { // passes run one after another
		if chunk++; chunk >= len(after) {
			return
		}
		for s.reads.Load() <= after[chunk-1] {
			s.until(more, "a read of the chunk after the one that has run")
			if t.Failed() {
				return
			}
		}
		if n, most := s.reads.Load(), after[chunk]; n > most {
			t.Errorf("chunk %d has run: got %d reads, want at most the %d of one chunk ahead", chunk, n, most)
		}
	}
	got, h := s.answer(prompt, 2, true)
	if chunk < len(after) {
		t.Errorf("the trunk ran %d passes, want the prompt's %d chunks", chunk, len(after))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v as without the lane", got, want)
	}
	if l := h.Lanes()[0]; l.Windows < int64(len(after)) || l.FailOver != 0 {
		t.Errorf("lane: got %+v, want %d chunks and no fail-over", l, len(after))
	}
}

// TestFailedReadsCostNoByte: reads that fail, on the lane and on the stock path, cost time only, as long as trying again helps.
func TestFailedReadsCostNoByte(t *testing.T) {
	s := newStage(t)
	prompt := prompts(256)[1]
	want, _ := s.answer(prompt, 24, false)
	for _, on := range []bool{true, false} {
		var n atomic.Int64
		fail := func() error {
			switch n.Add(1) {
			case 70, 300, 500: // in the prompt and in rounds
				return errors.New("injected I/O error")
			}
			return nil
		}
		s.fail.Store(&fail)
		got, h := s.answer(prompt, 24, on)
		s.fail.Store(nil)
		if !slices.Equal(got, want) {
			t.Errorf("lanes %v: got %v, want %v", on, got, want)
		}
		if r := h.Status().Rows.Cache; r.Errors == 0 {
			t.Errorf("lanes %v: no read failed", on)
		}
		if l := h.Lanes()[0]; on && l.FailOver == 0 {
			t.Errorf("lane: got %+v, want fail-overs", l)
		}
	}
}

// TestTableLost: a table that cannot be read at all ends requests with an error of its own that names it, the status says so
// while it lasts, and then requests are served again.
func TestTableLost(t *testing.T) {
	s := newStage(t)
	prompt := prompts(256)[1]
	fail := func() error { return errors.New("injected I/O error") }
	c := housetest.Config(s.bundle)
	h := housetest.Start(t, c)
	s.fail.Store(&fail)
	a := housetest.Run(t.Context(), h, housetest.Request(prompt, 4), nil)
	var read *ple.ReadError
	if !errors.Is(a.Err, intake.ErrTable) || !errors.As(a.Err, &read) || read.Table != s.bundle.Model.PLE[0].Cache.Table().Name() {
		t.Errorf("got %v, want ErrTable that names the table", a.Err)
	}
	if h.Status().Rows.Trouble == nil {
		t.Error("the status says nothing")
	}
	s.fail.Store(nil)
	if a := housetest.Run(t.Context(), h, housetest.Request(prompt, 4), nil); a.Err != nil {
		t.Errorf("the table is back: got %v", a.Err)
	}
	for h.Status().Rows.Trouble != nil { // or the test hangs
		runtime.Gosched()
	}
}
