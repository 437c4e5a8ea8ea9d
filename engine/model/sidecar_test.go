package model_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/ple"
)

// The released side-car (spec 5.3).
const (
	releasedRows  = 320_001_536
	releasedBytes = 32_000_153_600
)

// sideCar is the released table as a sparse file: no disk, no memory.
type sideCar struct {
	dir    string
	planes [3]int64 // offsets in the file of weights, scales and biases
}

var planeWidth = [3]int64{80, 10, 10}

// writeSideCar makes a tiny pack whose n-gram geometry and side-car are the released ones. cut bytes are missing at the end.
func writeSideCar(t *testing.T, rows, cut int64) sideCar {
	t.Helper()
	g := packtest.Tiny()
	g.PLEDim, g.HeadsPerNgram, g.NgramDivisor = 2560, 8, 128
	s := sideCar{dir: t.TempDir()}
	o := packtest.Options{Layout: pack.MLX, Bits: 8, TableBits: 4}
	if err := packtest.Write(s.dir, g, 81, o); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(s.dir, "config.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	small := fmt.Sprintf(`"ngram_vocab_size_base": %d`, g.NgramBase)
	if !bytes.Contains(text, []byte(small)) {
		t.Fatalf("config.json lacks %s:\n%s", small, text)
	}
	if err := os.WriteFile(config, bytes.Replace(text, []byte(small), []byte(`"ngram_vocab_size_base": 20000000`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	head, at := map[string]any{"__metadata__": map[string]string{"format": "mlx", "ngram_bits": "4", "ngram_group_size": "32"}}, int64(0)
	for i, p := range []struct {
		name, dtype string
		cols        int64
	}{{"weight", "U32", 20}, {"scales", "BF16", 5}, {"biases", "BF16", 5}} {
		head["ngram."+p.name] = map[string]any{"dtype": p.dtype, "shape": []int64{rows, p.cols}, "data_offsets": []int64{at, at + rows*planeWidth[i]}}
		s.planes[i] = at
		at += rows * planeWidth[i]
	}
	raw, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, "        "[:(8-len(raw)%8)%8]...)
	f, err := os.Create(filepath.Join(s.dir, "ngram-table.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range s.planes {
		s.planes[i] += 8 + int64(len(raw))
	}
	if _, err := f.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...)); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(8 + int64(len(raw)) + at - cut); err != nil {
		t.Skipf("this file system has no sparse files of %d bytes: %v", at, err)
	}
	return s
}

// put writes a row's record to the file.
func (s sideCar) put(t *testing.T, row int64, record []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, "ngram-table.safetensors"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, n := range planeWidth {
		if _, err := f.WriteAt(record[:n], s.planes[i]+row*n); err != nil {
			t.Fatal(err)
		}
		record = record[n:]
	}
}

func (s sideCar) open(t *testing.T) *pack.Pack {
	t.Helper()
	src, err := pack.Dir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.Open(t, src)
}

// heap is the live heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSideCarAtItsRealSize opens 320,001,536 rows of 100 bytes, reads rows at both ends and on both sides of 4 GiB in each
// plane, and makes a window; memory stays what it is with a small table.
func TestSideCarAtItsRealSize(t *testing.T) {
	s := writeSideCar(t, releasedRows, 0)
	rng := rand.New(rand.NewPCG(5, 5))
	written := map[int64][]byte{}
	at := []int64{0, 1, releasedRows - 1, releasedRows / 2}
	for i, n := range planeWidth { // the row that a plane has at 4 GiB of the file, and its neighbours
		if row := (1<<32 - s.planes[i]) / n; row > 0 {
			at = append(at, row-1, row, row+1)
		}
	}
	for _, row := range at {
		record := make([]byte, 100)
		for i := range record {
			record[i] = byte(rng.Uint32())
		}
		for i := 81; i < 100; i += 2 {
			record[i] &= 0x3f // scales and biases that are finite
		}
		written[row] = record
		s.put(t, row, record)
	}
	for _, place := range []ple.Placement{ple.Auto, ple.File, ple.Mmap} {
		t.Run(place.String(), func(t *testing.T) {
			p, dev := s.open(t), modeltest.CPU(t, 1)
			before := heap()
			m, err := model.Load(p, dev, model.Options{Placement: place, PLECache: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			c := m.PLE[0].Cache
			table := c.Table()
			if table.Rows() != releasedRows || table.RowBytes() != 100 || table.Bytes() != releasedBytes || table.Placement() == ple.Memory {
				t.Fatalf("got %d rows of %d bytes, %d in all, placed %s", table.Rows(), table.RowBytes(), table.Bytes(), table.Placement())
			}
			var ids []int64
			var want []byte
			for _, row := range at {
				ids, want = append(ids, row, releasedRows-1-row), append(append(want, written[row]...), written[releasedRows-1-row]...)
				if written[releasedRows-1-row] == nil {
					want = append(want, make([]byte, 100)...) // a hole
				}
			}
			got := make([]byte, 100*len(ids))
			for range 2 { // from the table, then from the cache
				if err := c.Gather(t.Context(), new(ple.Scratch), got, ids); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Fatal("records differ from those written")
				}
			}
			for _, bad := range []int64{-1, releasedRows, 1 << 40, -1 << 63} {
				if err := c.Gather(t.Context(), new(ple.Scratch), got[:200], []int64{5, bad}); !errors.Is(err, ple.ErrRead) || !strings.Contains(err.Error(), "320001535") {
					t.Errorf("row %d: got %v, want ErrRead that tells the range", bad, err)
				}
			}
			seen := map[int64]bool{}
			for range 10 { // rows all over the file
				tokens := make([]int32, 64)
				for i := range tokens {
					tokens[i] = rng.Int32N(256)
				}
				hashed := make([]int64, 16*len(tokens))
				m.PLE[0].Hash.IDs(hashed, nil, tokens)
				records := make([]byte, 100*len(hashed))
				if err := c.Gather(t.Context(), new(ple.Scratch), records, hashed); err != nil {
					t.Fatal(err)
				}
				for _, id := range hashed {
					seen[id>>24] = true
				}
			}
			if len(seen) != 20 {
				t.Errorf("ids fall on %d of the table's 20 stretches of 2^24 rows", len(seen))
			}
			if grown := heap() - before; grown > 64<<20 {
				t.Errorf("the heap grew by %d bytes with a table of %d", grown, table.Bytes())
			}
			if used := dev.Used(); used > 64<<20 {
				t.Errorf("the device holds %d bytes: the table was counted", used)
			}
		})
	}
}

// TestSideCarRefused: a table that does not fit its file or the memory limit is refused by numbers, before it is read.
func TestSideCarRefused(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		p := writeSideCar(t, releasedRows, 0).open(t)
		dev, err := cpu.New(cpu.Options{Threads: 1, Memory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		_, err = model.Load(p, dev, model.Options{Placement: ple.Memory})
		if !errors.Is(err, metal.ErrMemory) || !strings.Contains(err.Error(), "32000153600") || !strings.Contains(err.Error(), "1073741824") || !strings.Contains(err.Error(), "--ngram-placement file") {
			t.Errorf("got %v, want ErrMemory with both sizes and what else to do", err)
		}
		if dev.Used() != 0 {
			t.Errorf("%d bytes stay booked", dev.Used())
		}
	})
	for name, c := range map[string]struct {
		rows, cut int64
		says      string
	}{
		"a byte short":      {releasedRows, 1, "ngram.biases"},
		"4 GiB short":       {releasedRows, 4 << 30, "ngram."},
		"rows in 28 bits":   {releasedRows % (1 << 28), 0, "at least 320001"},
		"one row too few":   {320_001_445, 0, "at least 320001446"},
		"nothing but names": {releasedRows, releasedBytes, "ngram."},
	} {
		t.Run(name, func(t *testing.T) {
			s := writeSideCar(t, c.rows, c.cut)
			src, err := pack.Dir(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := pack.Open(src)
			if err == nil {
				defer p.Close()
				_, err = p.NgramTable(0)
			}
			if !errors.Is(err, pack.ErrCorrupt) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want ErrCorrupt that says %q", err, c.says)
			}
		})
	}
}

// TestTableInMemory: a table that was copied counts against the device and gives its bytes back.
func TestTableInMemory(t *testing.T) {
	g := packtest.Tiny()
	dir := t.TempDir()
	if err := packtest.Write(dir, g, 82, packtest.Options{Layout: pack.MLX, Bits: 8, TableBits: 4}); err != nil {
		t.Fatal(err)
	}
	src, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, dev := modeltest.Open(t, src), modeltest.CPU(t, 1)
	used := map[ple.Placement]int64{}
	for _, place := range []ple.Placement{ple.File, ple.Memory} {
		m, err := model.Load(p, dev, model.Options{Placement: place})
		if err != nil {
			t.Fatal(err)
		}
		used[place] = dev.Used()
		bytes := m.PLE[0].Cache.Table().Bytes()
		m.Close()
		if dev.Used() != 0 {
			t.Errorf("%s: %d bytes stay booked", place, dev.Used())
		}
		if place == ple.Memory && used[ple.Memory]-used[ple.File] != bytes {
			t.Errorf("the table of %d bytes counts for %d", bytes, used[ple.Memory]-used[ple.File])
		}
	}
}
