package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
)

// readBytes is how much of a tensor a job holds at a time; a multiple of every element's size.
const readBytes = 1 << 20

// Job reads one tensor: it looks for numbers that are not finite, and compares the checksum if there is one.
type Job struct {
	Bytes int64 // it will read

	a      *Audit
	tensor pack.TensorInfo
	sum    string // by the manifest; "" for none
}

// Run does the job. What it finds goes to the audit's steps; its own error is of the context alone. progress, if not nil, is
// told of bytes as they are read.
func (j *Job) Run(ctx context.Context, progress func(bytes int64)) error {
	t := &j.tensor
	var h hash.Hash
	if j.sum != "" {
		h = sha256.New()
	} else if j.a.listed && j.a.manifest.Files[t.File].Header != "" {
		j.a.fault(j.a.sums, fmt.Errorf("%s: tensor %q: is not in %s, want every tensor there", t.File, t.Name, manifest.Name))
	}
	buf := make([]byte, min(readBytes, t.Bytes))
	bad := false
	for at := int64(0); at < t.Bytes; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = buf[:min(int64(len(buf)), t.Bytes-at)]
		if err := j.a.p.ReadTensor(*t, buf, at); err != nil {
			j.a.fault(j.a.scan, err)
			return nil
		}
		if i, v := unfit(buf, t.DType); i >= 0 && !bad {
			bad = true // one is enough to tell
			j.a.fault(j.a.scan, fmt.Errorf("%s: tensor %q: element %d of shape %v: got %v, want a finite number", t.File, t.Name, at/t.DType.Size()+int64(i), t.Shape, v))
		}
		switch {
		case j.sum == manifest.Sparse:
			if i := nonzero(buf); i >= 0 {
				j.a.fault(j.a.sums, fmt.Errorf("%s: tensor %q: byte %d: got %d, want a hole of zeros by %s", t.File, t.Name, at+int64(i), buf[i], manifest.Name))
				return nil
			}
		case h != nil:
			h.Write(buf)
		}
		if progress != nil {
			progress(int64(len(buf)))
		}
	}
	if h != nil && j.sum != manifest.Sparse {
		if got := hex.EncodeToString(h.Sum(nil)); got != j.sum {
			j.a.fault(j.a.sums, fmt.Errorf("%s: tensor %q: got SHA-256 %s, want %s by %s", t.File, t.Name, got, j.sum, manifest.Name))
		}
	}
	return nil
}

// unfit is the first element that is NaN or infinite, -1 if there is none or the type has no such values.
func unfit(b []byte, d pack.DType) (int, float32) {
	le := binary.LittleEndian
	mask := uint32(0x7f80)
	switch d {
	case pack.F32:
		for i := 0; i+4 <= len(b); i += 4 {
			if v := le.Uint32(b[i:]); v&0x7f800000 == 0x7f800000 {
				return i / 4, math.Float32frombits(v)
			}
		}
		return -1, 0
	case pack.F16:
		mask = 0x7c00
	case pack.BF16:
	default:
		return -1, 0
	}
	for i := 0; i+2 <= len(b); i += 2 {
		if uint32(le.Uint16(b[i:]))&mask == mask {
			var v [1]float32
			pack.Decode(v[:], b[i:i+2], d)
			return i / 2, v[0]
		}
	}
	return -1, 0
}

// nonzero is the first byte that is not zero, -1 if there is none.
func nonzero(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:]) != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] != 0 {
			return i
		}
	}
	return -1
}
