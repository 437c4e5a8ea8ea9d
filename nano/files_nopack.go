//go:build nopack

package nano

// Files returns nothing: this binary was built with the tag nopack.
func Files() (map[string]string, bool) { return nil, false }
