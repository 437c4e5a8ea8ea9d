package cpu

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/host"
)

// resident is the test program's resident memory in bytes, as the system tells it.
func resident() int {
	n, _ := host.Resident()
	return int(n)
}

// TestArena takes and gives back at random, and compares every byte with a plain copy: blocks are zeroed, lie apart, begin
// on a line, and at the end no chunk is left but one that is free in one piece.
func TestArena(t *testing.T) {
	for _, huge := range []bool{false, true} {
		a := &arena{huge: huge}
		defer a.close()
		rng := rand.New(rand.NewPCG(1, 2))
		type taken struct {
			got, want []byte
		}
		var live []taken
		give := func(i int) {
			if !bytes.Equal(live[i].got, live[i].want) {
				t.Fatalf("huge %v: %d bytes: another block was written into this one", huge, len(live[i].got))
			}
			a.give(live[i].got)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		for range 3000 {
			if len(live) > 0 && rng.IntN(5) < 2 || len(live) > 60 {
				give(rng.IntN(len(live)))
				continue
			}
			n := 1 + rng.IntN(1<<(1+rng.IntN(18)))
			if rng.IntN(500) == 0 {
				n = chunkSize + rng.IntN(1<<20)
			}
			b, ok := a.take(n)
			if !ok || len(b) != n || uintptr(unsafe.Pointer(&b[0]))%line != 0 {
				t.Fatalf("huge %v: take %d: got %d bytes, %v, want them on a line", huge, n, len(b), ok)
			}
			if n < chunkSize && !bytes.Equal(b, make([]byte, n)) {
				t.Fatalf("huge %v: %d bytes: not zeroed", huge, n)
			}
			w := taken{got: b, want: make([]byte, n)}
			for i := 0; i < n; i += 1 + rng.IntN(900) {
				b[i] = byte(rng.Uint32())
				w.want[i] = b[i]
			}
			live = append(live, w)
		}
		for len(live) > 0 {
			give(len(live) - 1)
		}
		if !pagesApart {
			continue
		}
		// One chunk is kept, unless the last to go was a large one.
		if n := len(a.chunks); n > 1 || n == 1 && (len(a.chunks[0].free) != 1 || a.chunks[0].free[0] != span{0, chunkSize}) {
			t.Errorf("huge %v: everything given back: got %d chunks, want at most one that is free whole", huge, n)
		}
	}
}

// TestArenaRefusesTwice: a block given back twice, or never taken, is a broken invariant of ours and must not go unseen.
func TestArenaRefusesTwice(t *testing.T) {
	if !pagesApart {
		return // memory is Go's: there is nothing to give back
	}
	var a arena
	defer a.close()
	b, _ := a.take(100)
	keep, _ := a.take(100)
	a.give(b)
	for name, give := range map[string][]byte{"twice": b, "part of a free one": b[64:], "never taken": make([]byte, 10)} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("got nothing, want a panic")
				}
			}()
			a.give(give)
		})
	}
	a.give(keep)
}

// TestFreedMemoryLeaves: what is freed is no longer resident, and what is allocated is, to the page.
func TestFreedMemoryLeaves(t *testing.T) {
	if !pagesApart {
		return // memory is Go's: the collector decides
	}
	d, err := New(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const n = 8 << 20 // elements: 32 MiB
	before := resident()
	b, err := d.Alloc(metal.F32, n)
	if err != nil {
		t.Fatal(err)
	}
	// The Go side of the test program moves by less than a quarter of the block.
	if grown := resident() - before; grown < 3*n || grown > 5*n {
		t.Errorf("after Alloc: got %d bytes more resident, want about %d", grown, 4*n)
	}
	b.Free()
	if grown := resident() - before; grown > n {
		t.Errorf("after Free: got %d bytes more resident than before, want about none", grown)
	}
}

func TestArenaConcurrent(t *testing.T) {
	var a arena
	defer a.close()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(w)))
			for range 500 {
				n := 1 + rng.IntN(100_000)
				b, ok := a.take(n)
				if !ok {
					t.Error("got no memory")
					return
				}
				for i := range b {
					if b[i] != 0 {
						t.Errorf("worker %d: byte %d of %d: got %d, want 0", w, i, n, b[i])
						return
					}
					b[i] = byte(w + 1)
				}
				for i := range b {
					if b[i] != byte(w+1) {
						t.Errorf("worker %d: byte %d of %d: another worker wrote here", w, i, n)
						return
					}
				}
				a.give(b)
			}
		})
	}
	wg.Wait()
}

// TestArenaLeavesNothing: pages that several small blocks share leave with the last of them.
func TestArenaLeavesNothing(t *testing.T) {
	if !pagesApart {
		return // memory is Go's: the collector decides
	}
	var a arena
	defer a.close()
	rng := rand.New(rand.NewPCG(5, 6))
	var blocks [][]byte
	keep, _ := a.take(64) // the chunk stays
	before := resident()
	for range 20_000 { // about 40 MiB
		b, _ := a.take(1 + rng.IntN(4000))
		blocks = append(blocks, b)
	}
	if grown := resident() - before; grown < 30<<20 {
		t.Errorf("taken: got %d bytes more resident, want about 40 MiB", grown)
	}
	rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for _, b := range blocks {
		a.give(b)
	}
	if grown := resident() - before; grown > 8<<20 {
		t.Errorf("given back: got %d bytes more resident than before, want next to none", grown)
	}
	a.give(keep)
}
