package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// image makes a safetensors file of a header text and so many data bytes.
func image(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, data)...)
}

func TestHeader(t *testing.T) {
	const good = `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[16,16]},"s":{"dtype":"F8_X","shape":[5],"data_offsets":[16,18]}}   `
	h, err := parseHeader(image(good, 18))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(h.metadata)
	for _, s := range h.spans {
		got += fmt.Sprintf(" %s %s %v %d..%d", s.name, s.dtype, s.shape, s.begin-8-int64(len(good)), s.end-8-int64(len(good)))
	}
	want := "map[format:pt] a F32 [1] 0..4 b BF16 [2 3] 4..16 e F32 [0 7] 16..16 s F8_X [5] 16..18"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestHeaderMalformed(t *testing.T) {
	one := func(body string) []byte { return image(`{"w":{`+body+`}}`, 8) }
	long := binary.LittleEndian.AppendUint64(nil, 1<<62)
	for _, c := range []struct {
		name string
		file []byte
		want string // in the error
	}{
		{"empty file", nil, "got 0 bytes, want at least the 8"},
		{"length cut", []byte{1, 2, 3}, "got 3 bytes"},
		{"huge length", long, "want at most 100000000"},
		{"header cut", image(`{"w":{}}`, 0)[:12], "but only 4 follow"},
		{"no JSON", image(`hello`, 0), "bad JSON"},
		{"not an object", image(`[]`, 0), "want {"},
		{"cut JSON", image(`{"w":{"dtype":"F32"`, 0), "bad JSON"},
		{"text after", image(`{} {}`, 0), "text after"},
		{"duplicate tensor", image(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), `"w" is listed twice`},
		{"duplicate key", one(`"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]`), `tensor "w": dtype`},
		{"duplicate shape", one(`"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]`), `shape is listed twice`},
		{"unknown key", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1`), `unknown key "x"`},
		{"no offsets", one(`"dtype":"F32","shape":[2]`), "want dtype, shape and two data_offsets"},
		{"one offset", one(`"dtype":"F32","shape":[2],"data_offsets":[8]`), "two data_offsets"},
		{"three offsets", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8,9]`), "more than 2"},
		{"negative offset", one(`"dtype":"F32","shape":[2],"data_offsets":[-8,0]`), "got -8, want a non-negative integer"},
		{"descending", one(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`), "got 8..0"},
		{"past the end", one(`"dtype":"F32","shape":[4],"data_offsets":[0,16]`), "file's 8 bytes of data"},
		{"negative dim", one(`"dtype":"F32","shape":[-2],"data_offsets":[0,8]`), "shape: got -2"},
		{"fraction", one(`"dtype":"F32","shape":[2.5],"data_offsets":[0,8]`), "shape: got 2.5"},
		{"shape text", one(`"dtype":"F32","shape":["2"],"data_offsets":[0,8]`), "want a non-negative integer"},
		{"shape too small", one(`"dtype":"F32","shape":[1],"data_offsets":[0,8]`), "got 8 bytes, want 4 for shape [1] F32"},
		{"dtype mismatch", one(`"dtype":"I64","shape":[2],"data_offsets":[0,8]`), "want 16 for shape [2] I64"},
		{"overflow to zero", one(`"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]`), "too large"},
		{"overflow", one(`"dtype":"F32","shape":[9223372036854775807,3],"data_offsets":[0,4]`), "too large"},
		{"overflow of an unknown type", one(`"dtype":"ZZ","shape":[9223372036854775807,3],"data_offsets":[0,4]`), "too large"},
		{"many axes", one(`"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]`), "more than 16"},
		{"dtype no string", one(`"dtype":4,"shape":[2],"data_offsets":[0,8]`), "want one string"},
		{"overlap", image(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), `tensor "b"`},
		{"same bytes", image(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 12), `overlap those of tensor "a"`},
		{"bytes before the first", one(`"dtype":"F32","shape":[1],"data_offsets":[4,8]`), `tensor "w": got 4 bytes between it and the header`},
		{"bytes between", image(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}}`, 10), `tensor "b": got 2 bytes between it and tensor "a"`},
		{"bytes after the last", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4]`), `got 4 bytes after tensor "w"`},
		{"bytes of nothing", image(`{}`, 3), "got 3 bytes after the header"},
		{"metadata value", image(`{"__metadata__":{"n":4}}`, 0), `__metadata__ "n": got 4, want a string`},
		{"metadata list", image(`{"__metadata__":[]}`, 0), `__metadata__: got [, want {`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := parseHeader(c.file)
			if err == nil {
				t.Fatalf("got %d tensors, want an error with %q", len(h.spans), c.want)
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q (corrupt %t), want %q", err, errors.Is(err, ErrCorrupt), c.want)
			}
		})
	}
}

// Whatever the bytes, the parser returns; what it accepts lies inside the file, apart, and as long as its shape says.
func FuzzHeader(f *testing.F) {
	f.Add(image(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}}`, 12))
	f.Add(image(`{"__metadata__":{"format":"mlx"}}  `, 0))
	f.Add(image(`{"a":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,8]}}`, 8))
	f.Add(image(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[1,2]},"a":1}`, 3))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := parseHeader(file)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want it to wrap ErrCorrupt", err)
			}
			return
		}
		var last int64
		for i := range h.spans {
			s := &h.spans[i]
			if last != 0 && s.begin != last || s.end < s.begin || s.end > int64(len(file)) || s.begin < 8+int64(len(h.raw)) {
				t.Fatalf("tensor %q: got bytes %d..%d of a file of %d, after %d", s.name, s.begin, s.end, len(file), last)
			}
			if size := s.dtype.Size(); size > 0 && s.elements()*size != s.end-s.begin {
				t.Fatalf("tensor %q: got %d bytes for %v %s", s.name, s.end-s.begin, s.shape, s.dtype)
			}
			last = s.end
		}
		if end := max(last, 8+int64(len(h.raw))); end != int64(len(file)) {
			t.Fatalf("got %d bytes that belong to no tensor", int64(len(file))-end)
		}
	})
}
