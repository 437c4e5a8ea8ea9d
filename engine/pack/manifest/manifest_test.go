package manifest_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack/manifest"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func sample() manifest.Manifest {
	return manifest.Manifest{Version: manifest.Version, Made: "a test", Note: "nothing", Files: map[string]manifest.File{
		"config.json":       {Bytes: 12, SHA256: sum},
		"model.safetensors": {Bytes: 99, Header: sum, Tensors: map[string]string{"a": sum, "b": manifest.Sparse}},
	}}
}

func TestRoundTrip(t *testing.T) {
	text, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := manifest.Parse(text)
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %+v %v, want %+v", got, err, sample())
	}
}

func TestMalformed(t *testing.T) {
	text, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	for _, c := range []struct {
		name, text, want string
	}{
		{"empty", "", "EOF"},
		{"no object", "[]", "array"},
		{"text after", good + "{}", "text after"},
		{"another version", strings.Replace(good, `"flashlane_manifest": 1`, `"flashlane_manifest": 2`, 1), "got 2, want 1"},
		{"unknown field", strings.Replace(good, `"made"`, `"maker"`, 1), "maker"},
		{"no files", `{"flashlane_manifest": 1, "files": {}}`, "got none"},
		{"negative size", strings.Replace(good, `"bytes": 12`, `"bytes": -12`, 1), `file "config.json": bytes: got -12`},
		{"short sum", strings.Replace(good, sum, sum[2:], 1), "want 64 hex digits"},
		{"no hex", strings.Replace(good, sum, "x"+sum[1:], 1), "want 64 hex digits"},
		{"sum of neither kind", `{"flashlane_manifest": 1, "files": {"a": {"bytes": 1}}}`, "want either"},
		{"sums of both kinds", strings.Replace(good, `"sha256"`, `"header_sha256": "`+sum+`", "sha256"`, 1), "want either"},
		{"tensors of a text", strings.Replace(good, `"sha256"`, `"tensors": {"a": "sparse"}, "sha256"`, 1), "want either"},
		{"bad tensor sum", strings.Replace(good, `"sparse"`, `"spares"`, 1), `tensor "b"`},
	} {
		if _, err := manifest.Parse([]byte(c.text)); !errors.Is(err, manifest.ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Whatever the bytes, Parse returns; what it takes can be written and read again as the same.
func FuzzParse(f *testing.F) {
	text, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"flashlane_manifest": 1, "files": {"a": {"bytes": 1, "sha256": ""}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(data)
		if err != nil {
			if !errors.Is(err, manifest.ErrFormat) {
				t.Fatalf("got %v, want it to wrap ErrFormat", err)
			}
			return
		}
		once, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := manifest.Parse(once)
		if err != nil {
			t.Fatalf("its own text: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("got %s, then %s (%v)", once, twice, err)
		}
	})
}
