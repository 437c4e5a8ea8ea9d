//go:build !linux

package ple

import (
	"errors"
	"fmt"
)

// Evict drops the table's pages from the system's page cache, for measurement only. It does not know how to here.
func (t *Table) Evict() error {
	return fmt.Errorf("ple: table %s: dropping pages: %w", t.spec.Name, errors.ErrUnsupported)
}
