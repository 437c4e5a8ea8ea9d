package cpu

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/conform"
)

func open(tb testing.TB, o Options) *Device {
	tb.Helper()
	d, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// TestConform runs the suite on every kernel set of this machine with two threads, and on the best also with one.
func TestConform(t *testing.T) {
	for i, set := range kernelSets() {
		for _, threads := range []int{2, 1}[:max(1, 2-i)] {
			t.Run(fmt.Sprintf("kernels=%s/threads=%d", set.name, threads), func(t *testing.T) {
				conform.Run(t, func(t *testing.T) metal.Device { return open(t, Options{Threads: threads, Kernels: set.name}) })
			})
		}
	}
}

// TestBits holds the kernel sets to their common device kind: in either precision all results have the same bits.
func TestBits(t *testing.T) {
	for _, p := range []Precision{Exact, Fast} {
		want := conform.Digests(t, open(t, Options{Threads: 1, Kernels: "go", Precision: p}))
		for i, set := range kernelSets() {
			for _, threads := range []int{3, 1}[:max(1, 2-i)] {
				got := conform.Digests(t, open(t, Options{Threads: threads, Kernels: set.name, Precision: p}))
				for _, name := range slices.Sorted(maps.Keys(want)) {
					if got[name] != want[name] {
						t.Errorf("%s, precision %s, with kernels %s and %d threads: other bits than the portable kernels with one", name, p, set.name, threads)
					}
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "write testdata/bits.txt anew")

// TestBitsGolden compares a hash per op with the recorded one, so that a change of bits, or an architecture that has other
// ones (a product fused by the compiler, say), is seen. Snapshots on disk are keyed by the device kind: changing bits needs a new kind.
func TestBitsGolden(t *testing.T) {
	for p, file := range map[Precision]string{Exact: "testdata/bits.txt", Fast: "testdata/bits-fast.txt"} {
		t.Run(p.String(), func(t *testing.T) { goldenBits(t, p, file) })
	}
}

func goldenBits(t *testing.T, p Precision, file string) {
	sums := conform.Digests(t, open(t, Options{Precision: p}))
	byOp := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		op, _, _ := strings.Cut(name, "/")
		byOp[op] += fmt.Sprintf("%s %x\n", name, sums[name])
	}
	var got strings.Builder
	fmt.Fprintf(&got, "# Hash of every op's results over the cases of metal/conform, device kind %s.\n", p.kind())
	got.WriteString("# Written by: go test ./metal/cpu -run TestBitsGolden -update\n")
	for _, op := range slices.Sorted(maps.Keys(byOp)) {
		fmt.Fprintf(&got, "%-12s %x\n", op, sha256.Sum256([]byte(byOp[op])))
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for _, line := range strings.Split(got.String(), "\n") {
		if !slices.Contains(lines, line) {
			t.Errorf("%s: got %q, which is not there: results have other bits than recorded (or the cases changed: review, then -update)", file, line)
		}
	}
}

func BenchmarkConform(b *testing.B) {
	for _, set := range kernelSets() {
		b.Run("kernels="+set.name, func(b *testing.B) {
			conform.Bench(b, func(b *testing.B) metal.Device { return open(b, Options{Threads: 1, Kernels: set.name}) })
		})
	}
}
