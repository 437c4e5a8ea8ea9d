package abba_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/flashlane/flashlane/bench/abba"
	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/fake"
	"github.com/flashlane/flashlane/bench/report"
)

var (
	ctx   = context.Background()
	lanes = []string{"ple_cached_aux", "qsa_pooled_rowsel"}
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, s *fake.Server) *client.Client {
	t.Helper()
	s.Pace = time.Millisecond
	c, err := client.New(s.Start(t).URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func arms(t *testing.T) []abba.Arm {
	t.Helper()
	out, err := abba.LaneArms(lanes, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func spec(t *testing.T) abba.Spec {
	return abba.Spec{Arms: arms(t), Seeds: []uint64{1, 2}, Prompt: 40, Output: 5, Warm: 1}
}

func TestOrderAndLanes(t *testing.T) {
	s := &fake.Server{}
	r, err := abba.Measure(ctx, connect(t, s), spec(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range s.Log {
		if strings.HasPrefix(line, "chat") {
			got = append(got, line)
		}
	}
	var want []string
	for _, seed := range []string{"1", "2"} {
		for _, state := range []string{"--", "--", "+-", "++", "++", "+-", "--"} { // a warm-up, then control, a, b, b, a, control
			want = append(want, "chat "+state+" "+seed)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if len(r.Windows) != 12 {
		t.Fatalf("got %d windows, want 12: warm-ups do not count", len(r.Windows))
	}
	for _, w := range r.Windows {
		if w.Prompt != 40 || w.Tokens != 5 || w.Finish != "length" || w.Prefill != 40/2e-3 || w.Served != 4/2e-3 || w.Decode <= 0 || w.Peak != 64<<20 {
			t.Errorf("got %+v", w)
		}
	}
	result, err := r.Result(nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(result.Comparison); n != 2*len(abba.Metrics) {
		t.Errorf("got %d comparisons, want one per arm and metric", n)
	}
	if c := result.Comparison[2]; c.Metric != "prefill" || c.Verdict.Gain != 0 || c.Verdict.Kind != "neutral" {
		t.Errorf("prefill times of the fake are all equal, but: %+v", c)
	}
	text := result.Markdown("title", report.NewSetup([]string{"bench"}, "v", "shared"))
	for _, want := range []string{"on: ple_cached_aux, qsa_pooled_rowsel", "Equal in all windows", "(empty)", "## Verdict", "5 (length)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	svg, err := result.Chart("title", report.Setup{})
	if err != nil || strings.Count(svg, "<polyline") != 4 {
		t.Errorf("chart: %v, %d lines, want one per seed and panel", err, strings.Count(svg, "<polyline"))
	}
	if _, err := json.Marshal(result); err != nil {
		t.Error(err)
	}
}

func TestGuards(t *testing.T) {
	for name, c := range map[string]struct {
		server *fake.Server
		is     error
		says   string
	}{
		"a warm prefix":                 {&fake.Server{Cached: 7}, abba.ErrGuard, "7 of 40 prompt tokens"},
		"a warm prefix, kept secret":    {&fake.Server{Secret: 7}, abba.ErrGuard, "7 prompt tokens came from the prefix cache, though"},
		"a longer prompt than stated":   {&fake.Server{Extra: 80}, abba.ErrGuard, "120 templated tokens, 40 were planned"},
		"a lane that changes the bytes": {&fake.Server{Lying: "qsa_pooled_rowsel"}, abba.ErrDigest, "tokens of b differ from those of control"},
		"empty texts":                   {&fake.Server{Empty: true}, abba.ErrGuard, "chunks with text"},
		"digests of nothing":            {&fake.Server{NoDigest: true}, abba.ErrDigest, "evidence of nothing"},
		"a lane that does no work":      {&fake.Server{Idle: "ple_cached_aux"}, abba.ErrGuard, "served no window"},
		"an actor that restarts":        {&fake.Server{Restarting: true}, abba.ErrGuard, "restarted"},
		"a stream that breaks off":      {&fake.Server{Break: 3}, client.ErrStream, "broke off"},
		"a context too small":           {&fake.Server{Context: 44}, nil, "45"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := abba.Measure(ctx, connect(t, c.server), spec(t))
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got error %v, want one that says %q", err, c.says)
			}
		})
	}
}

// A run with wrong digests still gives its windows, and its report says that they prove nothing.
func TestWrongDigestsAreTold(t *testing.T) {
	s := spec(t)
	r, wrong := abba.Measure(ctx, connect(t, &fake.Server{Lying: "ple_cached_aux"}), s)
	if !errors.Is(wrong, abba.ErrDigest) || r == nil {
		t.Fatalf("got %v", wrong)
	}
	result, err := r.Result(wrong)
	if err != nil || !strings.Contains(result.Markdown("t", report.Setup{}), "**Not equal**") {
		t.Errorf("error %v, or the report does not say so", err)
	}
	s.Differ = true // a setting that may change the text: windows of one arm must agree still
	if _, err := abba.Measure(ctx, connect(t, &fake.Server{Lying: "ple_cached_aux"}), s); err != nil {
		t.Errorf("differing allowed: %v", err)
	}
}

func TestArmsWithServersOfTheirOwn(t *testing.T) {
	var log []string
	own := connect(t, &fake.Server{})
	enter := func(name string) func(context.Context) (*client.Client, func() error, error) {
		return func(context.Context) (*client.Client, func() error, error) {
			log = append(log, "+"+name)
			return own, func() error { log = append(log, "-"+name); return nil }, nil
		}
	}
	s := abba.Spec{Arms: []abba.Arm{{Name: "x", Enter: enter("x")}, {Name: "y", Enter: enter("y")}}, Seeds: []uint64{1}, Prompt: 20, Output: 4}
	if _, err := abba.Measure(ctx, nil, s); err != nil {
		t.Fatal(err)
	}
	// Each once to be tried, one to plan, then x, y, y, x; never two at once.
	if want := "+x -x +y -y +x -x +x -x +y -y +y -y +x -x"; strings.Join(log, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(log, " "), want)
	}
	broken := errors.New("broken")
	log = nil
	s.Arms[1].Enter = func(context.Context) (*client.Client, func() error, error) { return nil, nil, broken }
	if _, err := abba.Measure(ctx, nil, s); !errors.Is(err, broken) || strings.Join(log, " ") != "+x -x" {
		t.Errorf("got %v, log %v, want arm y's error before any window", err, log)
	}
}

// An arm that asks for what its server cannot give ends the run before its first window.
func TestArmsAreTriedBeforeWindows(t *testing.T) {
	for name, c := range map[string]struct {
		server *fake.Server
		says   string
	}{
		"a lane that declined": {&fake.Server{Declined: "qsa_pooled_rowsel"}, "arm b wants lane qsa_pooled_rowsel on"},
		"a lane it has not":    {&fake.Server{Lanes: map[string]bool{"ple_cached_aux": true}}, "arm control wants lane qsa_pooled_rowsel off"},
	} {
		_, err := abba.Measure(ctx, connect(t, c.server), spec(t))
		if err == nil || !strings.Contains(err.Error(), c.says) || len(c.server.Log) > 0 {
			t.Errorf("%s: got %v after %v, want an error that says %q before anything", name, err, c.server.Log, c.says)
		}
	}
}

// The report tells model, device kind and precision of each arm, which servers of their own may differ in.
func TestArmsAreToldApart(t *testing.T) {
	exact, fast := connect(t, &fake.Server{}), connect(t, &fake.Server{Precision: "fast"})
	enter := func(c *client.Client) func(context.Context) (*client.Client, func() error, error) {
		return func(context.Context) (*client.Client, func() error, error) {
			return c, func() error { return nil }, nil
		}
	}
	r, err := abba.Measure(ctx, nil, abba.Spec{Arms: []abba.Arm{{Name: "x", Enter: enter(exact)}, {Name: "y", Enter: enter(fast)}}, Seeds: []uint64{1}, Prompt: 20, Output: 4})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Result(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := result.Arms; a[0].Precision != "exact" || a[1].Precision != "fast" || a[1].Device != "fake/f32" || a[1].Model != "fake" {
		t.Errorf("got %+v", a)
	}
	if text := result.Markdown("t", report.Setup{}); !strings.Contains(text, "model fake on fake/f32, precision exact") || !strings.Contains(text, "precision fast") {
		t.Errorf("the report does not say so:\n%s", text)
	}
}

// A window is measured again while the limit is passed and tries are left; every window of it is a full one.
func TestDisturbedWindowsAreMeasuredAgain(t *testing.T) {
	s := &fake.Server{}
	sp := spec(t)
	sp.Seeds, sp.Warm, sp.Quiet, sp.Retries, sp.Patience = []uint64{1}, 0, 0.5, 2, time.Millisecond
	r, err := abba.Measure(ctx, connect(t, s), sp)
	if err != nil {
		t.Fatal(err)
	}
	chats, tries := 0, 0
	for _, line := range s.Log {
		if strings.HasPrefix(line, "chat") {
			chats++
		}
	}
	for _, w := range r.Windows {
		tries += w.Tries
		if w.Tries < 1 || w.Tries > 3 || w.Tries < 3 && w.Others > 0.5 {
			t.Errorf("%d tries with others at %v, want 1 to 3, and 3 if it stayed above 0.5", w.Tries, w.Others)
		}
	}
	if chats != tries {
		t.Errorf("%d requests in %d tries", chats, tries)
	}
}

func TestLaneArms(t *testing.T) {
	got, err := abba.LaneArms([]string{"p", "q"}, []string{"q"}, []string{})
	if err != nil || got[1].Lanes["p"] || !got[1].Lanes["q"] || got[2].Lanes["p"] || got[2].Lanes["q"] {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := abba.LaneArms([]string{"p"}, []string{"x"}, nil); err == nil {
		t.Error("an unknown lane was taken")
	}
	if _, err := abba.LaneArms(nil, nil, nil); err == nil {
		t.Error("no lanes were taken")
	}
	for _, twice := range [][3][]string{{{"p", "p"}}, {{"p", "q"}, {"p", "p"}}, {{"p", "q"}, nil, {"q", "p", "q"}}} {
		if _, err := abba.LaneArms(twice[0], twice[1], twice[2]); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("lanes %v: got %v, want a refusal of the one named twice", twice, err)
		}
	}
	if got := abba.Mirror(3); !slices.Equal(got, []int{0, 1, 2, 2, 1, 0}) {
		t.Errorf("order: got %v", got)
	}
}

// TestColdWindows: what is to make windows cold runs before each, warm-ups and repeats too, and a window that read nothing
// from disk does not count.
func TestColdWindows(t *testing.T) {
	s := &fake.Server{Cold: 3}
	sp, before := spec(t), 0
	sp.Cold, sp.Before = true, func() error { before++; return nil }
	r, err := abba.Measure(ctx, connect(t, s), sp)
	if err != nil {
		t.Fatal(err)
	}
	if before != 14 { // a warm-up and six windows for each of two seeds
		t.Errorf("pages were dropped %d times, want 14", before)
	}
	for _, w := range r.Windows {
		if w.Cold != 3 {
			t.Errorf("cold reads: got %d, want 3", w.Cold)
		}
	}
	if _, err := abba.Measure(ctx, connect(t, &fake.Server{}), sp); !errors.Is(err, abba.ErrGuard) || !strings.Contains(err.Error(), "no row came from disk") {
		t.Errorf("warm windows: got %v", err)
	}
	broken := errors.New("cannot drop pages")
	sp.Before = func() error { return broken }
	if _, err := abba.Measure(ctx, connect(t, s), sp); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestSpecIsChecked(t *testing.T) {
	c := connect(t, &fake.Server{})
	for name, change := range map[string]func(*abba.Spec){
		"one arm":       func(s *abba.Spec) { s.Arms = s.Arms[:1] },
		"no seeds":      func(s *abba.Spec) { s.Seeds = nil },
		"no prompt":     func(s *abba.Spec) { s.Prompt = 0 },
		"answer of one": func(s *abba.Spec) { s.Output = 1 },
		"a seed twice":  func(s *abba.Spec) { s.Seeds = []uint64{1, 2, 1} },
		"warm below 0":  func(s *abba.Spec) { s.Warm = -1 },
	} {
		s := spec(t)
		change(&s)
		if _, err := abba.Measure(ctx, c, s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Answers whose tokens all came in one round have no decode rate; the rest of the comparison stands.
func TestOneRoundHasNoRate(t *testing.T) {
	r, err := abba.Measure(ctx, connect(t, &fake.Server{OneRound: true}), spec(t))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Result(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := len(result.Comparison)
	if n != 2*(len(abba.Metrics)-1) || result.Comparison[0].Metric != "prefill" || result.Untimed != 12 || result.Windows[0].Decode != 0 {
		t.Errorf("got %d comparisons, the first of %s, %d windows without a rate", n, result.Comparison[0].Metric, result.Untimed)
	}
	if text := result.Markdown("title", report.Setup{}); !strings.Contains(text, "12 of 12 windows have no decode rate") {
		t.Errorf("the report does not say so:\n%s", text)
	}
	if svg, err := result.Chart("title", report.Setup{}); err != nil || strings.Count(svg, "<polyline") != 2 {
		t.Errorf("chart: %v, %d lines, want the prefill panel's", err, strings.Count(svg, "<polyline"))
	}
}
