package server

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// ErrKeys is wrapped by every fault of a key file.
var ErrKeys = errors.New("server: bad API key file")

// Keys are the API keys the server takes. Only their SHA-256 sums are kept. nil: no key is needed.
type Keys struct {
	names []string
	sums  [][sha256.Size]byte
}

// LoadKeys reads a key file; see ParseKeys.
func LoadKeys(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	defer f.Close()
	return ParseKeys(f)
}

// ParseKeys reads one key a line, "name:key" or a bare key, which is then called key1, key2 ... by its line among the
// keys. Empty lines and lines that begin with # are skipped. Keys are printable ASCII of at least 8 characters without
// spaces; names and keys occur once. Errors name the line, never the key.
func ParseKeys(r io.Reader) (*Keys, error) {
	k := &Keys{}
	names := map[string]bool{}
	sums := map[[sha256.Size]byte]bool{}
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(strings.TrimPrefix(scan.Text(), "\ufeff"))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, key, named := strings.Cut(text, ":")
		if !named {
			name, key = fmt.Sprintf("key%d", len(k.names)+1), text
		}
		name, key = strings.TrimSpace(name), strings.TrimSpace(key)
		switch {
		case name == "":
			return nil, fmt.Errorf("%w: line %d: the name before ':' is empty", ErrKeys, line)
		case names[name]:
			return nil, fmt.Errorf("%w: line %d: the name %q occurs twice", ErrKeys, line, name)
		case len(key) < 8:
			return nil, fmt.Errorf("%w: line %d: the key has %d characters, want at least 8", ErrKeys, line, len(key))
		case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, fmt.Errorf("%w: line %d: the key has characters other than printable ASCII without spaces", ErrKeys, line)
		}
		sum := sha256.Sum256([]byte(key))
		if sums[sum] {
			return nil, fmt.Errorf("%w: line %d: the key of %q occurs twice", ErrKeys, line, name)
		}
		names[name], sums[sum] = true, true
		k.names, k.sums = append(k.names, name), append(k.sums, sum)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	if len(k.names) == 0 {
		return nil, fmt.Errorf("%w: it has no key", ErrKeys)
	}
	return k, nil
}

// Names lists the names of the keys in file order.
func (k *Keys) Names() []string { return append([]string(nil), k.names...) }

// Match returns the name of the presented key. Every sum is compared, in constant time each, so that the time tells
// nothing about which key came how near.
func (k *Keys) Match(presented string) (string, bool) {
	sum := sha256.Sum256([]byte(presented))
	found := -1
	for i := range k.sums {
		if subtle.ConstantTimeCompare(sum[:], k.sums[i][:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return k.names[found], true
}

// presentedKey takes the key from "Authorization: Bearer ..." or from x-api-key.
func presentedKey(r *http.Request) string {
	scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return r.Header.Get("X-Api-Key")
}
