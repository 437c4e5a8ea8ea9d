package manifest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Name is the manifest's file name inside a pack.
const Name = "flashlane-manifest.json"

// Version is the format's.
const Version = 1

// ErrFormat marks a manifest that cannot be read.
var ErrFormat = errors.New("manifest: bad format")

// Manifest lists what a pack was when it was written.
type Manifest struct {
	Version int             `json:"flashlane_manifest"`
	Made    string          `json:"made"`           // by what, in words: "pack convert, recipe q8, from nano"
	Note    string          `json:"note,omitempty"` // what a reader should know, for instance of a sparse table
	Files   map[string]File `json:"files"`          // all of them but the manifest itself
}

// File is one file. A text file has SHA256, a safetensors file Header and Tensors.
type File struct {
	Bytes   int64             `json:"bytes"`
	SHA256  string            `json:"sha256,omitempty"`
	Header  string            `json:"header_sha256,omitempty"` // of everything before the data: length, JSON, padding
	Tensors map[string]string `json:"tensors,omitempty"`       // SHA-256 by name as written; Sparse for a hole
}

// Sparse stands in place of a sum where a tensor was left a hole in the file, which reads as zeros.
const Sparse = "sparse"

// Encode writes the manifest as JSON; names are sorted.
func (m Manifest) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// Parse reads a manifest and checks its form: the version, sizes, sums of the right length, and that a file has the sums of
// one kind. Errors wrap ErrFormat.
func Parse(data []byte) (Manifest, error) {
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("%w: byte %d: %w", ErrFormat, dec.InputOffset(), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Manifest{}, fmt.Errorf("%w: text after the JSON object", ErrFormat)
	}
	if m.Version != Version {
		return Manifest{}, fmt.Errorf("%w: flashlane_manifest: got %d, want %d", ErrFormat, m.Version, Version)
	}
	if len(m.Files) == 0 {
		return Manifest{}, fmt.Errorf("%w: files: got none", ErrFormat)
	}
	for name, f := range m.Files {
		if err := f.check(); err != nil {
			return Manifest{}, fmt.Errorf("%w: file %q: %w", ErrFormat, name, err)
		}
	}
	return m, nil
}

func (f File) check() error {
	if f.Bytes < 0 {
		return fmt.Errorf("bytes: got %d, want 0 or more", f.Bytes)
	}
	if text, tensors := f.SHA256 != "", f.Header != ""; text == tensors || text && f.Tensors != nil {
		return errors.New("want either sha256, or header_sha256 with tensors")
	}
	for _, s := range []string{f.SHA256, f.Header} {
		if s != "" && !isSum(s) {
			return fmt.Errorf("got %q, want 64 hex digits", s)
		}
	}
	for name, s := range f.Tensors {
		if s != Sparse && !isSum(s) {
			return fmt.Errorf("tensor %q: got %q, want 64 hex digits or %q", name, s, Sparse)
		}
	}
	return nil
}

func isSum(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32
}
