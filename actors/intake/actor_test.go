package intake

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flashlane/flashlane/engine/sample"
)

func submit(d *Desk, id string) (*entry, error) {
	return d.admit(Submit{Request: &Request{ID: id}, Output: NewOutput(), desk: d}, 1)
}

// room has so many bytes.
type room struct {
	free int64
	held map[string]int64
}

func (r *room) Check(bytes int64) error {
	if bytes > 100 {
		return errors.New("never")
	}
	return nil
}

func (r *room) Reserve(id string, bytes int64) bool {
	if bytes > r.free {
		return false
	}
	r.free -= bytes
	r.held[id] = bytes
	return true
}

func (r *room) Force(id string, bytes int64) {
	r.free -= bytes
	r.held[id] = bytes
}

func (r *room) Release(id string) {
	r.free += r.held[id]
	delete(r.held, id)
}

func newRoom(free int64) *room { return &room{free: free, held: map[string]int64{}} }

// TestDeskWaitsForMemory: what does not fit now waits its turn, and what never fits is refused before any work.
func TestDeskWaitsForMemory(t *testing.T) {
	r := newRoom(10)
	d := NewDesk(8, 8, r)
	admit := func(id string, need int64) (*entry, error) {
		return d.admit(Submit{Request: &Request{ID: id}, Output: NewOutput(), desk: d}, need)
	}
	if e, err := admit("a", 8); e == nil || err != nil {
		t.Fatalf("a: got %v, %v, want it to start", e, err)
	}
	if e, err := admit("b", 5); e != nil || err != nil {
		t.Fatalf("b: got %v, %v, want it to wait", e, err)
	}
	if e, err := admit("c", 1); e != nil || err != nil {
		t.Fatalf("c: got %v, %v, want it to wait behind b though it would fit", e, err)
	}
	if _, err := admit("d", 101); !errors.Is(err, ErrMemory) {
		t.Errorf("d: got %v, want ErrMemory", err)
	}
	if e, _ := d.promote(); e != nil {
		t.Fatalf("promote: got %s, want nobody yet", e.request.ID)
	}
	d.leave("a")
	for _, want := range []string{"b", "c"} {
		if e, err := d.promote(); err != nil || e == nil || e.request.ID != want {
			t.Fatalf("promote: got %v, want %s", e, want)
		}
	}
	d.leave("b")
	d.forget("c")
	if r.free != 10 || len(r.held) != 0 {
		t.Errorf("after all left: %d bytes free, %v held, want 10 and none", r.free, r.held)
	}
}

func TestDesk(t *testing.T) {
	d := NewDesk(2, 1, newRoom(100))
	for _, id := range []string{"a", "b"} {
		if e, err := submit(d, id); e == nil || err != nil {
			t.Fatalf("%s: got %v, %v, want it to start", id, e, err)
		}
	}
	if e, err := submit(d, "c"); e != nil || err != nil {
		t.Fatalf("c: got %v, %v, want it to wait", e, err)
	}
	if _, err := submit(d, "d"); !errors.Is(err, ErrBusy) {
		t.Errorf("d: got %v, want ErrBusy", err)
	}
	if _, err := submit(d, "a"); !errors.Is(err, ErrInternal) {
		t.Errorf("a again: got %v, want ErrInternal", err)
	}
	if e, _ := d.promote(); e != nil {
		t.Errorf("promote with no free slot: got %s", e.request.ID)
	}
	d.leave("a")
	d.leave("a") // twice is once
	if e, _ := d.promote(); e == nil || e.request.ID != "c" {
		t.Fatalf("promote: got %v, want c", e)
	}
	if a, q := d.Counts(); a != 2 || q != 0 {
		t.Errorf("counts: got %d active %d queued, want 2 and 0", a, q)
	}
	d.forget("b")
	if a, _ := d.Counts(); a != 1 || d.Live("b") {
		t.Errorf("after forget: got %d active, live %v, want 1 and false", a, d.Live("b"))
	}
}

// TestNobodyWaitsForNobody: with nothing active a waiting request is started or refused, however the books stand.
func TestNobodyWaitsForNobody(t *testing.T) {
	r := newRoom(10)
	d := NewDesk(8, 8, r)
	for id, need := range map[string]int64{"a": 8} {
		if e, err := d.admit(Submit{Request: &Request{ID: id}, Output: NewOutput(), desk: d}, need); e == nil || err != nil {
			t.Fatal(e, err)
		}
	}
	for _, w := range []struct {
		id   string
		need int64
	}{{"b", 5}, {"c", 100}} {
		if e, err := d.admit(Submit{Request: &Request{ID: w.id}, Output: NewOutput(), desk: d}, w.need); e != nil || err != nil {
			t.Fatal(e, err)
		}
	}
	r.free -= 9 // something else took the room for good
	d.leave("a")
	if e, err := d.promote(); e == nil || e.request.ID != "b" || err != nil {
		t.Fatalf("promote with nobody active: got %v, %v, want b", e, err)
	}
	d.leave("b")
	d.queue[0].need = 101 // what fitted when it came does not fit any more
	if e, err := d.promote(); e == nil || !errors.Is(err, ErrMemory) || d.Live("c") {
		t.Errorf("promote of what can never fit: got %v, %v, want it refused", e, err)
	}
}

// TestKeysTakeTurns: one key's many requests do not hold up another's one, and nobody starves.
func TestKeysTakeTurns(t *testing.T) {
	d := NewDesk(1, 100, newRoom(1000))
	admit := func(id, key string) {
		if _, err := d.admit(Submit{Request: &Request{ID: id, Key: key}, Output: NewOutput(), desk: d}, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a1", "a2", "a3", "b1", "a4", "b2", "c1"} {
		admit(id, id[:1])
	}
	var got []string
	for last := "a1"; ; {
		d.leave(last)
		e, err := d.promote()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		last = e.request.ID
		got = append(got, last)
	}
	if want := []string{"b1", "c1", "a2", "b2", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("order: got %v, want %v", got, want)
	}
}

func TestDeskWithdraw(t *testing.T) {
	d := NewDesk(1, 4, newRoom(100))
	if _, err := submit(d, "active"); err != nil {
		t.Fatal(err)
	}
	if _, err := submit(d, "queued"); err != nil {
		t.Fatal(err)
	}
	if q, s, ok := d.withdraw("queued", stop{}); q == nil || s != nil || !ok {
		t.Errorf("queued: got %v %v %v, want the entry", q, s, ok)
	}
	if d.Live("queued") {
		t.Error("queued: still live after it was withdrawn")
	}
	// A cancel that comes before the session is there is kept for it.
	why := stop{err: ErrCancelled}
	if q, s, ok := d.withdraw("active", why); q != nil || s != nil || !ok {
		t.Errorf("active: got %v %v %v, want neither entry nor session yet", q, s, ok)
	}
	if got := d.attach(d.live["active"], nil, nil); got == nil || got.err != ErrCancelled {
		t.Errorf("attach: got %v, want the early cancel", got)
	}
	if _, _, ok := d.withdraw("nobody", stop{}); ok {
		t.Error("unknown id: got ok")
	}
}

func TestDeskWaitsForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDesk(1, 1, newRoom(100))
		for _, id := range []string{"a", "b"} {
			if _, err := submit(d, id); err != nil {
				t.Fatal(err)
			}
		}
		queued, active := d.close()
		if len(queued) != 1 || !slices.Equal(active, []string{"a"}) {
			t.Errorf("close: got %d queued, active %v, want 1 and [a]", len(queued), active)
		}
		if _, err := submit(d, "late"); !errors.Is(err, ErrClosing) {
			t.Errorf("late: got %v, want ErrClosing", err)
		}
		if err := d.Wait(time.Second); err == nil {
			t.Error("Wait with one still live: got nil")
		}
		done := make(chan error)
		go func() { done <- d.Wait(time.Hour) }()
		synctest.Wait()
		d.leave("a")
		if err := <-done; err != nil {
			t.Errorf("Wait: got %v", err)
		}
	})
}

func TestOutputKeepsOrderAndEnds(t *testing.T) {
	o := NewOutput()
	o.Push(Event{Kind: Accepted})
	o.Push(Event{Kind: Done, Report: &Report{}})
	o.Push(Event{Kind: Delta}) // too late
	for _, want := range []EventKind{Accepted, Done} {
		if e, err := o.Next(t.Context()); err != nil || e.Kind != want {
			t.Fatalf("got %v, %v, want kind %v", e.Kind, err, want)
		}
	}
	if _, err := o.Next(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: got %v, want ErrEnded", err)
	}
}

func TestOutputWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOutput()
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error, 2)
		go func() {
			_, err := o.Next(ctx)
			got <- err
			_, err = o.Next(ctx)
			got <- err
		}()
		synctest.Wait()
		o.Push(Event{Kind: Delta})
		if err := <-got; err != nil {
			t.Errorf("first: got %v", err)
		}
		left := errors.New("left")
		cancel(left)
		if err := <-got; err != left {
			t.Errorf("second: got %v, want the context's cause", err)
		}
	})
}

func tokens(ids ...int32) (out []sample.Token) {
	for _, id := range ids {
		out = append(out, sample.Token{ID: id})
	}
	return out
}

// TestTranscript counts and cuts; without a tokenizer no text is made.
func TestTranscript(t *testing.T) {
	isStop := func(id int32) bool { return id == 9 }
	cases := []struct {
		name              string
		max, context      int
		rounds            [][]int32
		drafted, accepted int // per round
		generated         int
		finish            Finish
		done              bool
		acceptedAll       int
	}{
		{name: "goes on", context: 100, rounds: [][]int32{{1}, {2, 3}}, drafted: 3, accepted: 1, generated: 3, acceptedAll: 2},
		{name: "stop id in mid-round", context: 100, rounds: [][]int32{{1, 9, 3}}, drafted: 3, accepted: 2, generated: 2, finish: FinishStop, done: true, acceptedAll: 2},
		{name: "token limit in mid-round", max: 2, context: 100, rounds: [][]int32{{1, 2, 3}}, drafted: 2, accepted: 2, generated: 2, finish: FinishLength, done: true, acceptedAll: 2},
		{name: "context limit", context: 5, rounds: [][]int32{{1, 2}}, generated: 2, finish: FinishLength, done: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newTranscript(&Request{Prompt: []int32{5, 6, 7}, MaxTokens: c.max}, c.context, isStop, nil)
			done := false
			for _, r := range c.rounds {
				_, _, done = s.add(tokens(r...), c.drafted, c.accepted)
			}
			var rep Report
			s.fill(&rep)
			if done != c.done || rep.Finish != c.finish || rep.CompletionTokens != c.generated || rep.AcceptedDrafts != c.acceptedAll {
				t.Errorf("got done %v finish %q tokens %d accepted %d, want %v %q %d %d", done, rep.Finish, rep.CompletionTokens,
					rep.AcceptedDrafts, c.done, c.finish, c.generated, c.acceptedAll)
			}
			if rep.TextSHA != "" || rep.ReasoningSHA != "" {
				t.Error("digest of no text: want it empty")
			}
			if rep.TokensSHA == "" {
				t.Error("digest of tokens: got none")
			}
		})
	}
}

// TestLedgerPrefixesAreShared: what was handed out is never written to again.
func TestLedgerPrefixesAreShared(t *testing.T) {
	s := session{script: newTranscript(&Request{Prompt: []int32{1, 2}}, 1000, func(int32) bool { return false }, nil)}
	var views [][]int32
	for i := range int32(200) {
		views = append(views, s.view())
		s.script.add(tokens(i), 0, 0)
	}
	for n, v := range views {
		if len(v) != n+2 || !slices.Equal(v, s.script.ledger[:n+2]) {
			t.Fatalf("view %d changed", n)
		}
		if cap(v) != len(v) {
			t.Fatalf("view %d has room to append into the ledger", n)
		}
	}
}
