package actors_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/verifier"
)

// TestPrefixCache: a second turn goes on from the first one's rows, with the bytes of a cold run, drafting at once; killed
// in mid-answer it is rebuilt from the nearest snapshot.
func TestPrefixCache(t *testing.T) {
	b := housetest.Open(t, nanoPack, 2)
	c := housetest.Config(b)
	c.StopIDs = nil
	cold := housetest.Start(t, c)
	c.PrefixCache = 256 << 20
	warm := housetest.Start(t, c)

	history := chatPrompt(t, b, "What does strings.TrimSpace do?")
	first := housetest.Run(t.Context(), warm, housetest.Request(history, 40), nil)
	if first.Err != nil || first.Report.CachedTokens != 0 {
		t.Fatalf("first turn: %v, %d cached tokens, want none", first.Err, first.Report.CachedTokens)
	}
	next := slices.Concat(history, first.IDs(), chatPrompt(t, b, "What is the signature of strings.Split?"))
	want := housetest.Run(t.Context(), cold, housetest.Request(next, 160), nil)
	// The tenth and the eleventh round are lost. A verifier that dies at the note of a finished pass would lose none.
	const kills = 2
	rounds := 0
	lose := func(message any) bool {
		if _, ok := message.(verifier.Verify); !ok {
			return false
		}
		rounds++
		return rounds >= 10
	}
	if err := warm.FaultAt("verifier", &supervision.Fault{Times: kills, At: lose}); err != nil {
		t.Fatal(err)
	}
	got := housetest.Run(t.Context(), warm, housetest.Request(next, 160), nil)
	if want.Err != nil || got.Err != nil {
		t.Fatal(want.Err, got.Err)
	}
	if d := cmp.Diff(want.Tokens, got.Tokens); d != "" {
		t.Errorf("second turn: warm differs from cold (-cold +warm):\n%s", d)
	}
	// All rows but the one of the last emitted token were there.
	if most := len(history) + 39; got.Report.CachedTokens != most {
		t.Errorf("second turn: got %d cached tokens, want %d of %d", got.Report.CachedTokens, most, len(next))
	}
	if got.Report.Restarts != kills {
		t.Errorf("second turn: rebuilt %d times, want %d", got.Report.Restarts, kills)
	}
	// An edited early message still shares what came before it.
	edited := slices.Clone(next)
	edited[len(history)+5]++
	a := housetest.Run(t.Context(), warm, housetest.Request(edited, 10), nil)
	if a.Err != nil || a.Report.CachedTokens == 0 || a.Report.CachedTokens > len(history)+5 {
		t.Errorf("edited history: %v, %d cached tokens, want some of the first %d", a.Err, a.Report.CachedTokens, len(history)+5)
	}
	if e := housetest.Run(t.Context(), cold, housetest.Request(edited, 10), nil); !slices.Equal(e.IDs(), a.IDs()) {
		t.Errorf("edited history: warm %v, cold %v", a.IDs(), e.IDs())
	}
}

// TestDiskTier: what one process answered, the next one goes on from.
func TestDiskTier(t *testing.T) {
	dir := t.TempDir()
	b := housetest.Open(t, nanoPack, 2)
	c := housetest.Config(b)
	c.StopIDs, c.PrefixCache, c.Pack, c.CacheDir, c.CacheLimit = nil, 64<<20, b.Pack.Fingerprint(), dir, 64<<20
	history := goldens(t)["chat_tool"].Prompt
	var first housetest.Answer
	t.Run("first process", func(t *testing.T) {
		first = housetest.Run(t.Context(), housetest.Start(t, c), housetest.Request(history, 30), nil)
		if first.Err != nil {
			t.Fatal(first.Err)
		}
	})
	next := slices.Concat(history, first.IDs(), history[:40])
	s := housetest.Start(t, c)
	got := housetest.Run(t.Context(), s, housetest.Request(next, 30), nil)
	c.PrefixCache, c.CacheDir = 0, ""
	want := housetest.Run(t.Context(), housetest.Start(t, c), housetest.Request(next, 30), nil)
	if got.Err != nil || want.Err != nil {
		t.Fatal(got.Err, want.Err)
	}
	if got.Report.CachedTokens == 0 {
		t.Error("nothing was restored from disk")
	}
	if d := cmp.Diff(want.Tokens, got.Tokens); d != "" {
		t.Errorf("from disk: bytes differ (-cold +disk):\n%s", d)
	}
}

// TestCloseRightAfterAnAnswer: what a turn left for the indexers is done before they stop, or the store would wait for their gates for ever.
func TestCloseRightAfterAnAnswer(t *testing.T) {
	c := housetest.Config(housetest.Open(t, nanoPack, 2))
	c.StopIDs, c.PrefixCache = nil, 64<<20
	prompt := goldens(t)["chat_tool"].Prompt
	for range 10 {
		s := housetest.Start(t, c)
		if a := housetest.Run(t.Context(), s, housetest.Request(prompt, 12), nil); a.Err != nil {
			t.Fatal(a.Err)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close(10 * time.Second) }()
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the house does not close")
		}
	}
}
