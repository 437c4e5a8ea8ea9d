package decode_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/bench/decode"
	"github.com/flashlane/flashlane/bench/ops"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal/cpu"
)

func open(t *testing.T, parts bool) (*bundle.Bundle, *ops.Device) {
	t.Helper()
	src, err := pack.Dir("../../nano/pack")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dev := ops.Wrap(inner)
	dev.Parts = parts
	b, err := bundle.Open(p, dev, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Close()
		if n := dev.Used(); n != 0 {
			t.Errorf("%d bytes of device memory are still in use", n)
		}
		_ = dev.Close()
	})
	return b, dev
}

func prompt(b *bundle.Bundle, n int) (ids []int32) {
	for i := range n {
		ids = append(ids, int32(i*37%b.Model.Config.Vocab))
	}
	return ids
}

// What is measured is the real thing: the tokens are the same at every depth, chunk and with fused ops or their parts.
func TestSameTokens(t *testing.T) {
	var want []int32
	for _, c := range []struct {
		depth, chunk int
		parts        bool
	}{{0, 256, false}, {3, 256, false}, {3, 64, true}, {1, 99, false}, {7, 100, false}} {
		b, dev := open(t, c.parts)
		r, err := decode.Measure(context.Background(), b, dev, decode.Options{Prompt: prompt(b, 100), Tokens: 24, Depth: c.depth, Chunk: c.chunk, Repeat: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = r.Out
		}
		if d := cmp.Diff(want, r.Out); d != "" || len(r.Out) != 24 {
			t.Errorf("%+v: %d tokens (-depth 0 +this):\n%s", c, len(r.Out), d)
		}
		if r.Prompt != 100 || r.Tokens != 23 || r.Rounds > 23 || c.depth == 0 && r.Rounds != 23 {
			t.Errorf("%+v: got %d prompt tokens, %d tokens, %d rounds", c, r.Prompt, r.Tokens, r.Rounds)
		}
	}
}

func TestReport(t *testing.T) {
	b, dev := open(t, true)
	run, err := decode.Measure(context.Background(), b, dev, decode.Options{Prompt: prompt(b, 64), Tokens: 12, Depth: 3, Chunk: 32, Repeat: 2})
	if err != nil {
		t.Fatal(err)
	}
	r := &decode.Report{Model: "nano", Depth: 3}
	r.Against(run, ops.Roofs{Triad: 20, Read: 40, Peak: 150, Kind: "test"})
	if r.Runs != 2 || r.Prompt != 64 || r.Tokens != 11 || r.Prefill <= 0 || r.Decode <= 0 || len(r.Phases) != 5 {
		t.Errorf("got %+v", r)
	}
	for _, p := range r.Phases {
		shares := 0.0
		for _, o := range p.Ops {
			shares += o.Share
			least := max(o.Bytes/40e9, o.Flops/150e9)
			if math.Abs(o.Roof-least/o.Seconds) > 1e-6*o.Roof || (o.Bound == "arithmetic") != (o.Flops/150e9 > o.Bytes/40e9) {
				t.Errorf("%s %s: roof %v (%s) of %v bytes, %v operations in %v s", p.Name, o.Op, o.Roof, o.Bound, o.Bytes, o.Flops, o.Seconds)
			}
		}
		if math.Abs(shares-p.InOps) > 1e-9 || p.InOps <= 0 || p.InOps > 1 {
			t.Errorf("phase %s: ops take %v of it, summed up %v", p.Name, p.InOps, shares)
		}
	}
	// A verify pass reads every weight it needs once, whatever the rows: at least the head's and the mixers' bytes per round.
	for _, p := range r.Phases {
		if p.Name != "verify" {
			continue
		}
		for _, o := range p.Ops {
			if o.Op == "Linear" && o.What == "lm_head" {
				if got, least := o.Bytes/r.Rounds, float64(b.Model.Head.Bytes()); got < least || o.Calls != r.Rounds {
					t.Errorf("lm_head: %v bytes in %v calls for %v rounds, want at least %v each", o.Bytes, o.Calls, r.Rounds, least)
				}
			}
		}
	}
	text := r.Markdown()
	for _, want := range []string{"## verify", "lm_head", "between ops", "mlp.gate", "multiply-add, test"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestMeasureRefuses(t *testing.T) {
	b, dev := open(t, false)
	ok := decode.Options{Prompt: prompt(b, 8), Tokens: 4, Depth: 1, Chunk: 8, Repeat: 1}
	for name, change := range map[string]func(*decode.Options){
		"no prompt": func(o *decode.Options) { o.Prompt = nil }, "one token": func(o *decode.Options) { o.Tokens = 1 },
		"no chunk": func(o *decode.Options) { o.Chunk = 0 }, "too long": func(o *decode.Options) { o.Tokens = 4096 }, "no run": func(o *decode.Options) { o.Repeat = 0 },
	} {
		o := ok
		change(&o)
		if _, err := decode.Measure(context.Background(), b, dev, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := decode.Measure(ctx, b, dev, ok); err == nil {
		t.Error("a cancelled run gave figures")
	}
}
