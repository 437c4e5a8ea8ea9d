package pack

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
)

const (
	sampleWhole  = 4096 // tensors up to here are hashed whole
	samplePieces = 4    // larger ones in so many evenly spread pieces
	sampleBytes  = 1024 // of so many bytes
)

// Fingerprint names the pack's content: a SHA-256 over config.json, every header, small tensors whole and four pieces of
// each large one. It costs milliseconds and tells packs apart that were made differently; it is no proof that no byte of
// a large tensor was changed. It is part of snapshot and cache keys.
func (p *Pack) Fingerprint() string {
	p.once.Do(func() {
		p.fingerprint = p.hash()
		p.LeaveAll()
	})
	return p.fingerprint
}

func (p *Pack) hash() string {
	h := sha256.New()
	part := func(b []byte) { // length first: parts cannot run into each other
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	io.WriteString(h, "flashlane pack 1\n")
	part(p.config)
	for _, f := range p.arch.files { // the order in which they were opened: shards sorted, then side-cars
		part([]byte(f.name))
		part(f.header.raw)
		for i := range f.header.spans {
			s := &f.header.spans[i]
			data := f.blob.Data[s.begin:s.end]
			if len(data) <= sampleWhole {
				part(data)
				continue
			}
			for k := range samplePieces {
				at := (len(data) - sampleBytes) / (samplePieces - 1) * k
				part(data[at : at+sampleBytes])
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
