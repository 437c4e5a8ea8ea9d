package state

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// Digest hashes the live state, part by part, for tests: "layer3.k", "layer0.state", "mtp.raw" and so on, plus "len".
// Two sequences with equal digests go on with the same bits. It waits for queued work and reads everything.
func (s *Sequence) Digest(st metal.Stream) (map[string][32]byte, error) {
	d := digester{st: st, out: map[string][32]byte{}}
	d.put("len", binary.LittleEndian.AppendUint64(nil, uint64(s.Len)))
	for _, r := range s.Recurrent {
		d.vec(fmt.Sprintf("layer%d.state", r.Layer), r.State.Now())
		d.vec(fmt.Sprintf("layer%d.tail", r.Layer), r.Tail.Now())
	}
	for _, t := range s.Planes {
		d.vec(fmt.Sprintf("layer%d.ple.tail", t.Layer), t.Now())
	}
	for _, a := range s.Attention {
		d.attention(fmt.Sprintf("layer%d", a.Layer), a, s.Len)
	}
	if m := s.MTP; m != nil {
		d.put("mtp.len", binary.LittleEndian.AppendUint64(nil, uint64(m.Len)))
		d.attention("mtp", &m.Attention, m.Len)
	}
	return d.out, d.err
}

type digester struct {
	st  metal.Stream
	out map[string][32]byte
	err error
}

func (d *digester) put(name string, b []byte) { d.out[name] = sha256.Sum256(b) }

func (d *digester) vec(name string, v metal.Vec) {
	if d.err != nil {
		return
	}
	f := make([]float32, v.N)
	if v.N > 0 {
		if err := d.st.Read(f, v); err != nil {
			d.err = fmt.Errorf("state: digest %s: %w", name, err)
			return
		}
	}
	b := make([]byte, 0, 4*len(f))
	for _, x := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	d.put(name, b)
}

// attention hashes the rows below n and the settled blocks below n/ratio.
func (d *digester) attention(name string, a *Attention, n int) {
	blocks := min(a.Bank.Blocks, a.Index.Complete(n))
	d.vec(name+".k", metal.Vec{Buf: a.K, N: n * a.Width})
	d.vec(name+".v", metal.Vec{Buf: a.V, N: n * a.Width})
	d.vec(name+".raw", metal.Vec{Buf: a.Raw, N: n * a.Index.Dim})
	d.put(name+".blocks", binary.LittleEndian.AppendUint64(nil, uint64(blocks)))
	d.vec(name+".bank", metal.Vec{Buf: a.Bank.Keys.Buf, Off: a.Bank.Keys.Off, N: blocks * a.Index.Dim})
}
