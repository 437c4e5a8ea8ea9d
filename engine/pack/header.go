package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// maxHeader is the largest JSON header that is accepted, the format's own limit.
const maxHeader = 100_000_000

// maxRank bounds a tensor's dimensions; the model has none above 3.
const maxRank = 16

// span is one tensor of a safetensors header, as checked by parseHeader.
type span struct {
	name       string
	dtype      DType
	shape      []int64
	begin, end int64 // absolute offsets in the file
}

// elements is the number of elements; parseHeader made sure that it does not overflow.
func (s *span) elements() int64 {
	n := int64(1)
	for _, d := range s.shape {
		n *= d
	}
	return n
}

// header is a parsed safetensors header.
type header struct {
	raw      []byte // the JSON text
	metadata map[string]string
	spans    []span // ascending by begin
}

// parseHeader reads the header of a safetensors file: u64 little-endian length, JSON, data. Nothing is trusted: the length
// is checked against the file before the JSON is touched, names are unique, and shape times element size is the span. The
// spans cover the data to the last byte, none twice: the format allows no holes, and bytes that no tensor claims are another
// file's, or a tensor's that was meant to be read.
func parseHeader(file []byte) (*header, error) {
	if len(file) < 8 {
		return nil, corrupt("got %d bytes, want at least the 8 of a safetensors header length", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader {
		return nil, corrupt("header length: got %d bytes, want at most %d", n, maxHeader)
	}
	if n > uint64(len(file)-8) {
		return nil, corrupt("header length: got %d bytes, but only %d follow it (file cut short?)", n, len(file)-8)
	}
	h := &header{raw: file[8 : 8+n]}
	p := headerParser{dec: json.NewDecoder(bytes.NewReader(h.raw)), data: 8 + int64(n), size: int64(len(file))}
	p.dec.UseNumber()
	if err := p.parse(h); err != nil {
		return nil, err
	}
	slices.SortFunc(h.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	return h, h.covers(p.data, p.size)
}

// covers checks that the spans, which ascend, are the bytes from data to size.
func (h *header) covers(data, size int64) error {
	at, before := data, "the header"
	for i := range h.spans {
		b := &h.spans[i]
		switch {
		case b.begin < at:
			a := &h.spans[i-1]
			return corrupt("tensor %q: bytes %d..%d overlap those of tensor %q, %d..%d", b.name, b.begin, b.end, a.name, a.begin, a.end)
		case b.begin > at:
			return corrupt("tensor %q: got %d bytes between it and %s that belong to no tensor, want none", b.name, b.begin-at, before)
		}
		at, before = b.end, fmt.Sprintf("tensor %q", b.name)
	}
	if at < size {
		return corrupt("got %d bytes after %s that belong to no tensor, want none (was something appended?)", size-at, before)
	}
	return nil
}

type headerParser struct {
	dec  *json.Decoder
	data int64 // where the data begins
	size int64 // of the file
}

func (p *headerParser) parse(h *header) error {
	if err := p.open("header", '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.dec.More() {
		key, err := p.key()
		if err != nil {
			return err
		}
		if seen[key] {
			return corrupt("header: %q is listed twice", key)
		}
		seen[key] = true
		if key == "__metadata__" {
			if h.metadata, err = p.metadata(); err != nil {
				return err
			}
			continue
		}
		s, err := p.tensor(key)
		if err != nil {
			return err
		}
		h.spans = append(h.spans, s)
	}
	if err := p.close(); err != nil {
		return err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return corrupt("header: text after the JSON object")
	}
	return nil
}

func (p *headerParser) metadata() (map[string]string, error) {
	if err := p.open("header: __metadata__", '{'); err != nil {
		return nil, err
	}
	m := map[string]string{}
	for p.dec.More() {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		v, ok := t.(string)
		if !ok {
			return nil, corrupt("header: __metadata__ %q: got %v, want a string", key, t)
		}
		if _, dup := m[key]; dup {
			return nil, corrupt("header: __metadata__ %q is listed twice", key)
		}
		m[key] = v
	}
	return m, p.close()
}

func (p *headerParser) tensor(name string) (span, error) {
	s := span{name: name}
	if err := p.open(fmt.Sprintf("tensor %q", name), '{'); err != nil {
		return s, err
	}
	var haveType, haveShape bool
	var offsets []int64
	for p.dec.More() {
		key, err := p.key()
		if err != nil {
			return s, err
		}
		switch key {
		case "dtype":
			t, err := p.token()
			if err != nil {
				return s, err
			}
			text, ok := t.(string)
			if !ok || haveType {
				return s, corrupt("tensor %q: dtype: got %v, want one string", name, t)
			}
			s.dtype, haveType = DType(text), true
		case "shape":
			if haveShape {
				return s, corrupt("tensor %q: shape is listed twice", name)
			}
			if s.shape, err = p.ints(name, key, maxRank); err != nil {
				return s, err
			}
			haveShape = true
		case "data_offsets":
			if offsets != nil {
				return s, corrupt("tensor %q: data_offsets is listed twice", name)
			}
			if offsets, err = p.ints(name, key, 2); err != nil {
				return s, err
			}
		default:
			return s, corrupt("tensor %q: unknown key %q, want dtype, shape and data_offsets", name, key)
		}
	}
	if err := p.close(); err != nil {
		return s, err
	}
	if !haveType || !haveShape || len(offsets) != 2 {
		return s, corrupt("tensor %q: want dtype, shape and two data_offsets", name)
	}
	return s, p.place(&s, offsets[0], offsets[1])
}

// place checks the span against the file and the shape.
func (p *headerParser) place(s *span, begin, end int64) error {
	if room := p.size - p.data; begin > end || end > room {
		return corrupt("tensor %q: data_offsets: got %d..%d, want an ascending range inside the file's %d bytes of data", s.name, begin, end, room)
	}
	s.begin, s.end = p.data+begin, p.data+end
	size := s.dtype.Size()
	want := uint64(max(size, 1))
	for _, d := range s.shape {
		hi, lo := bits.Mul64(want, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return corrupt("tensor %q: shape %v %s is too large", s.name, s.shape, s.dtype)
		}
		want = lo
	}
	if size != 0 && want != uint64(end-begin) {
		return corrupt("tensor %q: got %d bytes, want %d for shape %v %s", s.name, end-begin, want, s.shape, s.dtype)
	}
	return nil
}

// ints reads an array of at most limit non-negative integers.
func (p *headerParser) ints(name, key string, limit int) ([]int64, error) {
	if err := p.open(fmt.Sprintf("tensor %q: %s", name, key), '['); err != nil {
		return nil, err
	}
	out := make([]int64, 0, 3)
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		num, ok := t.(json.Number)
		if !ok {
			return nil, corrupt("tensor %q: %s: got %v, want a non-negative integer", name, key, t)
		}
		v, err := strconv.ParseInt(string(num), 10, 64)
		if err != nil || v < 0 {
			return nil, corrupt("tensor %q: %s: got %s, want a non-negative integer", name, key, num)
		}
		if len(out) == limit {
			return nil, corrupt("tensor %q: %s: more than %d numbers", name, key, limit)
		}
		out = append(out, v)
	}
	return out, p.close()
}

func (p *headerParser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, corrupt("header: bad JSON at byte %d: %v", p.dec.InputOffset(), err)
	}
	return t, nil
}

func (p *headerParser) open(what string, want json.Delim) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if d, ok := t.(json.Delim); !ok || d != want {
		return corrupt("%s: got %v, want %v", what, t, want)
	}
	return nil
}

func (p *headerParser) close() error {
	_, err := p.token() // the decoder only ends a loop over More at the matching bracket or with an error
	return err
}

func (p *headerParser) key() (string, error) {
	t, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", corrupt("header: got %v, want a name", t)
	}
	return s, nil
}
