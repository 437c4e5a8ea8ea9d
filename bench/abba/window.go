package abba

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/flashlane/flashlane/bench/busy"
	"github.com/flashlane/flashlane/bench/client"
)

// ErrGuard is wrapped when a window was not what it was meant to be.
var ErrGuard = errors.New("abba: window not valid")

// Window is one measured window. Rates are in tokens per second, times in milliseconds.
type Window struct {
	Seed    uint64 `json:"seed"`
	Arm     string `json:"arm"`
	arm     int
	Prefill float64 `json:"prefill_tok_s"` // prompt tokens over the server's prefill time
	Decode  float64 `json:"decode_tok_s"`  // tokens after the first over the client's time from first to last text; 0: none, all came in one round
	Served  float64 `json:"decode_tok_s_served"`
	TTFT    float64 `json:"ttft_ms"`
	Wall    float64 `json:"wall_ms"`
	CPU     float64 `json:"cpu_s"`      // processor time of the server's process, 0 if it does not tell
	Others  float64 `json:"others"`     // share of the machine's processor time that went elsewhere, -1 if not known
	Tries   int     `json:"tries"`      // measured so often, because others took too much before
	Peak    int64   `json:"peak_bytes"` // resident, of the server's process
	Prompt  int     `json:"prompt_tokens"`
	Tokens  int     `json:"completion_tokens"`
	Think   int     `json:"reasoning_tokens"`
	Rounds  int     `json:"rounds"`
	Finish  string  `json:"finish"`
	Read    float64 `json:"row_read_ms"`    // time that gathers of n-gram rows took, beside the passes or in them
	Cold    int64   `json:"cold_row_reads"` // reads that had to wait for a disk, up to three a row

	TokensSHA    string `json:"tokens_sha256"`
	ReasoningSHA string `json:"reasoning_sha256"` // "" of an empty text
	TextSHA      string `json:"text_sha256"`      // "" of an empty text

	Work map[string]LaneWork `json:"lane_work,omitempty"`
}

// LaneWork is what a lane did during a window.
type LaneWork struct {
	Windows int64 `json:"windows"`
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	Bytes   int64 `json:"bytes"`
	Waits   int64 `json:"waits"`

	WaitMS float64 `json:"wait_ms"` // passes waited so long for the lane
}

// measure runs one guarded window of one or more requests.
func measure(ctx context.Context, c *client.Client, arm *Arm, asks []ask) (*Window, error) {
	for _, l := range arm.lanes() {
		if err := c.SetLane(ctx, l, arm.Lanes[l]); err != nil {
			return nil, err
		}
	}
	if err := c.Idle(ctx, 10*time.Second); err != nil {
		return nil, err
	}
	before, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	w := &Window{Arm: arm.Name}
	stop := c.Peak(ctx, 25*time.Millisecond)
	var s sums
	for i := range asks {
		a := asks[i].Ask
		if arm.Tune != nil {
			arm.Tune(&a)
		}
		answer, err := c.Chat(ctx, &a, nil)
		if err != nil {
			stop()
			return nil, err
		}
		if err := guard(arm, asks[i].tokens, answer); err != nil {
			stop()
			return nil, err
		}
		s.add(w, answer)
	}
	w.Peak = stop()
	after, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.close(w); err != nil {
		return nil, err
	}
	w.CPU = after.cpu - before.cpu
	w.Read, w.Cold = (after.read-before.read)*1e3, int64(after.cold-before.cold)
	w.Others = busy.Others(before.machine, w.CPU)
	return w, engaged(arm, w, before, after)
}

// guard checks one answer.
func guard(arm *Arm, tokens int, a *client.Answer) error {
	switch {
	case a.Prompt != tokens:
		return fmt.Errorf("%w: the prompt has %d templated tokens, %d were planned", ErrGuard, a.Prompt, tokens)
	case a.Cached != 0:
		return fmt.Errorf("%w: %d of %d prompt tokens came from the prefix cache: prefill must be cold; serve without the prefix cache", ErrGuard, a.Cached, a.Prompt)
	case a.Restarts != 0:
		return fmt.Errorf("%w: an actor restarted under the request %d times", ErrGuard, a.Restarts)
	case a.Completion < 2 || len(a.Marks) == 0:
		return fmt.Errorf("%w: %d tokens in %d chunks with text, want two or more tokens and some text", ErrGuard, a.Completion, len(a.Marks))
	}
	for _, l := range arm.lanes() {
		on, told := a.Lanes[l]
		if !told || on != arm.Lanes[l] {
			return fmt.Errorf("%w: arm %s wants lane %s %v, the answer says %v (told: %v)", ErrGuard, arm.Name, l, arm.Lanes[l], on, told)
		}
	}
	return nil
}

// sums add up the requests of a window.
type sums struct {
	decode, ttft, prefill, served float64 // ms
	requests                      int
	after                         int // tokens after the first, of requests whose time from first to last text says something
	tokens, reasoning, text       digester
}

func (s *sums) add(w *Window, a *client.Answer) {
	s.requests++
	if a.Rounds > 1 && len(a.Marks) > 1 { // what one round gave comes at once
		s.decode += ms(a.Decode())
		s.after += a.Completion - 1
	}
	s.ttft += ms(a.TTFT())
	s.prefill += a.Timings.Prefill
	s.served += a.Timings.Decode
	w.Wall += ms(a.End)
	w.Prompt, w.Tokens, w.Think, w.Rounds = w.Prompt+a.Prompt, w.Tokens+a.Completion, w.Think+a.Reasoning, w.Rounds+a.Rounds
	if w.Finish != "" {
		w.Finish += " "
	}
	w.Finish += a.Finish
	s.tokens.add(a.TokensSHA)
	s.reasoning.add(a.ReasoningSHA)
	s.text.add(a.TextSHA)
}

func (s *sums) close(w *Window) error {
	if !(s.prefill > 0) || !(s.served > 0) {
		return fmt.Errorf("%w: too short to time: prefill %v ms, decode %v ms", ErrGuard, s.prefill, s.served)
	}
	w.Prefill = float64(w.Prompt) / s.prefill * 1e3
	if s.decode > 0 {
		w.Decode = float64(s.after) / s.decode * 1e3
	}
	w.Served = float64(w.Tokens-s.requests) / s.served * 1e3
	w.TTFT = s.ttft / float64(s.requests)
	w.TokensSHA, w.ReasoningSHA, w.TextSHA = s.tokens.sum(), s.reasoning.sum(), s.text.sum()
	return nil
}

// digester is the digest of one request, or of several requests' digests; "" if all texts were empty.
type digester []client.Digest

func (d *digester) add(x client.Digest) { *d = append(*d, x) }

func (d digester) sum() string {
	if len(d) == 1 {
		return string(d[0])
	}
	h, some := sha256.New(), false
	for _, x := range d {
		some = some || x != ""
		fmt.Fprintf(h, "%s\n", x)
	}
	if !some {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// scene is the server's counters at one moment.
type scene struct {
	lanes    map[string]client.Lane
	restarts int
	cpu      float64
	reused   float64 // tokens that snapshots of the prefix cache stood for
	read     float64 // s, of gathers of n-gram rows
	cold     float64 // reads of n-gram rows from disk
	machine  busy.Moment
}

func look(ctx context.Context, c *client.Client) (s scene, err error) {
	if s.lanes, err = c.Lanes(ctx); err != nil {
		return s, err
	}
	if s.restarts, err = c.Restarts(ctx); err != nil {
		return s, err
	}
	s.cpu, _, err = c.Metric(ctx, "process_cpu_seconds_total")
	if err != nil {
		return s, err
	}
	for name, v := range map[string]*float64{"flashlane_prefix_tokens_total": &s.reused, "flashlane_rows_read_seconds_total": &s.read,
		"flashlane_rows_cold_reads_total": &s.cold} {
		if *v, _, err = c.Metric(ctx, name); err != nil {
			return s, err
		}
	}
	s.machine = busy.Now()
	return s, nil
}

// engaged checks that the lanes did what the arm says.
func engaged(arm *Arm, w *Window, before, after scene) error {
	if before.restarts != after.restarts {
		return fmt.Errorf("%w: %d actors restarted", ErrGuard, after.restarts-before.restarts)
	}
	if n := after.reused - before.reused; n != 0 {
		return fmt.Errorf("%w: the server's counter says that %.0f prompt tokens came from the prefix cache, though the answers do not: prefill must be cold; serve without the prefix cache", ErrGuard, n)
	}
	w.Work = map[string]LaneWork{}
	for name, l := range after.lanes {
		b := before.lanes[name]
		work := LaneWork{l.Windows - b.Windows, l.Hits - b.Hits, l.Misses - b.Misses, l.Bytes - b.Bytes, l.Waits - b.Waits, l.WaitMS - b.WaitMS}
		w.Work[name] = work
		want, ours := arm.Lanes[name]
		switch {
		case l.FailOver != b.FailOver:
			return fmt.Errorf("%w: lane %s failed over %d times", ErrGuard, name, l.FailOver-b.FailOver)
		case ours && want && work.Windows == 0:
			return fmt.Errorf("%w: lane %s is on in arm %s and served no window", ErrGuard, name, arm.Name)
		case ours && !want && work.Windows != 0:
			return fmt.Errorf("%w: lane %s is off in arm %s and served %d windows", ErrGuard, name, arm.Name, work.Windows)
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
