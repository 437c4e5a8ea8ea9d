package grammar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func encode(t testing.TB, text string) []int32 {
	t.Helper()
	ids, err := nano().EncodeOrdinary(text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func rows(n int) [][]uint64 {
	out := make([][]uint64, n)
	for i := range out {
		out[i] = make([]uint64, nanoVocab().Words())
	}
	return out
}

// Row j's mask is that of a session which committed the drafts before it, and asking leaves no trace.
func TestAllowEqualsCommitting(t *testing.T) {
	b := bind(t, mustCompile(t, walkSchemas[8]))
	r := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		ids, ok := drunk{r, b, 20}.text(t, nil)
		if !ok {
			continue
		}
		ids = append(ids, nanoStop)
		s := NewSession(b, nil)
		for at := 0; at < len(ids); {
			drafts := ids[at:min(at+1+r.IntN(4), len(ids))]
			got := rows(len(drafts) + 1)
			s.Allow(drafts, got)
			want := rows(1)[0]
			step := s.Clone()
			for j := range got {
				step.Matcher().Mask(want)
				if !slices.Equal(got[j], want) {
					t.Fatalf("row %d after %q: mask differs from that of committing", j, spell(ids[:at]))
				}
				if j < len(drafts) {
					if err := step.Commit(drafts[j]); err != nil {
						t.Fatal(err)
					}
				}
			}
			take := 1 + r.IntN(len(drafts))
			if err := s.Commit(drafts[:take]...); err != nil {
				t.Fatal(err)
			}
			at += take
			again, err := Replay(b, nil, ids[:at])
			if err != nil {
				t.Fatal(err)
			}
			s.Allow(nil, got[:1])
			again.Allow(nil, rows(1))
			again.Matcher().Mask(want)
			if !slices.Equal(got[0], want) || s.Done() != again.Done() {
				t.Fatalf("replaying %q leads elsewhere", spell(ids[:at]))
			}
		}
		if !s.Done() {
			t.Errorf("not done after %q", spell(ids))
		}
	}
}

func TestSessionRefuses(t *testing.T) {
	b := bind(t, mustCompile(t, `{"type":"boolean"}`))
	s := NewSession(b, nil)
	stops := make([]uint64, nanoVocab().Words())
	setBit(stops, nanoStop)
	got := rows(3)
	s.Allow([]int32{encode(t, "nope")[0], encode(t, "true")[0]}, got)
	if len(members(got[0])) == 0 || !slices.Equal(got[1], stops) || !slices.Equal(got[2], stops) {
		t.Errorf("rows %v, want tokens, then stop ids only", [][]int32{members(got[0]), members(got[1]), members(got[2])})
	}
	for _, id := range []int32{-1, 1 << 20, nanoStop, 8186, 8183, encode(t, "{")[0]} {
		if err := s.Commit(id); !errors.Is(err, ErrToken) {
			t.Errorf("id %d: error %v, want ErrToken", id, err)
		}
	}
	if err := s.Commit(append(encode(t, "true"), nanoStop)...); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(encode(t, "true")[0]); !errors.Is(err, ErrToken) {
		t.Errorf("after the stop id: error %v, want ErrToken", err)
	}
	s.Allow(nil, got[:1])
	if !slices.Equal(got[0], stops) {
		t.Errorf("after the stop id: %v, want stop ids only", members(got[0]))
	}
	if s := NewSession(b, nil); s.Done() || s.Commit(encode(t, "true")...) != nil || !s.Done() {
		t.Error("want done after a document and not before")
	}
}

// A complete document admits nothing but stop ids; a number may go on.
func TestStopIDs(t *testing.T) {
	b, err := nanoVocab().Bind(mustCompile(t, `{"type":"integer","maximum":12}`), []int32{nanoStop, 8183})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"1": "012", "12": "", "5": ""} {
		m := b.Start()
		if !m.AcceptBytes([]byte(text)) {
			t.Fatal(text)
		}
		mask := rows(1)[0]
		m.Mask(mask)
		rest := ""
		ids := members(mask)
		for _, id := range ids[:len(ids)-2] {
			rest += string(nano().Piece(id))
		}
		if rest != want || !slices.Equal(ids[len(ids)-2:], []int32{8183, nanoStop}) {
			t.Errorf("%s: %q and ids %v, want %q and the stop ids", text, rest, ids, want)
		}
	}
}

func TestBoundIsSafeForConcurrentUse(t *testing.T) {
	b := bind(t, mustCompile(t, walkSchemas[8]))
	want := rows(1)[0]
	b.Start().Mask(want)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 0))
			drunk{r, b, 40}.text(t, nil)
			got := rows(1)[0]
			if b.Start().Mask(got); !slices.Equal(got, want) {
				t.Error("mask differs")
			}
		})
	}
	wg.Wait()
}

type fewBytes struct{ *syllables }

func (fewBytes) Known(id int32) bool { return id != 'x' }

func TestBindRefuses(t *testing.T) {
	s, v := released()
	if _, err := NewVocab(fewBytes{s}, 300); !errors.Is(err, ErrVocab) {
		t.Errorf("a byte without a token: error %v, want ErrVocab", err)
	}
	g := mustCompile(t, `true`)
	for _, stop := range [][]int32{nil, {-1}, {1 << 20}, {5}} {
		if _, err := v.Bind(g, stop); !errors.Is(err, ErrVocab) {
			t.Errorf("stop ids %v: error %v, want ErrVocab", stop, err)
		}
	}
}

// The big vocabulary takes other paths (long tokens, dense masks): they must be exact, too.
func TestMasksAreExactInABigVocabulary(t *testing.T) {
	s, v := released()
	for _, p := range places {
		_, m := placed(t, v, s.tags["<|im_end|>"], p.schema, p.text)
		mask := make([]uint64, v.Words())
		m.Mask(mask)
		c := m.Clone()
		for id := range int32(s.Size()) {
			c.Set(m)
			if got, want := mask[id>>6]>>(id&63)&1 == 1, c.Accept(id); got != want {
				t.Fatalf("%s: id %d (%q) in the mask: %v, accepted: %v", p.name, id, s.Piece(id), got, want)
			}
		}
	}
}
