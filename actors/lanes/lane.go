package lanes

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknown is returned (wrapped) for a lane name that does not exist; the text lists the valid ones.
var ErrUnknown = errors.New("unknown lane")

// Lane is one of the decode lanes.
type Lane uint8

// The lanes, in the order in which they are shown.
const (
	PLE Lane = iota // ple_cached_aux: the stager builds the plane beside the draft
	QSA             // qsa_pooled_rowsel: indexers keep the banks beside the draft
	count
)

// All lists the lanes in order.
func All() []Lane { return []Lane{PLE, QSA} }

type spec struct {
	name, key, alias string
}

func (l Lane) spec() spec {
	return [...]spec{
		PLE: {"ple_cached_aux", "FLASHLANE_PLE_CACHED_AUX", "MTPLX_FABLE_PLE_CACHED_AUX"},
		QSA: {"qsa_pooled_rowsel", "FLASHLANE_QSA_POOLED_ROWSEL", "MTPLX_FABLE_QSA_POOLED_ROWSEL"},
	}[l]
}

// String is the lane's name.
func (l Lane) String() string { return l.spec().name }

// Key is the environment key that switches the lane off with 0.
func (l Lane) Key() string { return l.spec().key }

// Parse finds a lane by name.
func Parse(name string) (Lane, error) {
	for _, l := range All() {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%w %q: want one of %s", ErrUnknown, name, strings.Join(names(), ", "))
}

func names() []string {
	var out []string
	for _, l := range All() {
		out = append(out, l.String())
	}
	return out
}

// Bits is the set of lanes in force for one round; it is read once when the round's Draft is sent.
type Bits uint8

// Has reports whether the lane is in the set.
func (b Bits) Has(l Lane) bool { return b&(1<<l) != 0 }

// With returns the set with the lane put in or taken out.
func (b Bits) With(l Lane, on bool) Bits {
	if on {
		return b | 1<<l
	}
	return b &^ (1 << l)
}

// Map names each lane's state.
func (b Bits) Map() map[string]bool {
	m := map[string]bool{}
	for _, l := range All() {
		m[l.String()] = b.Has(l)
	}
	return m
}
