package lanes

import (
	"fmt"
	"slices"
	"strings"
)

// The environment keys that take a list of lanes, or "all".
const (
	disableKey   = "FLASHLANE_DISABLE"
	disableAlias = "MTPLX_FABLE_DISABLE"
)

// KeyValue is an environment key that the operator exported.
type KeyValue struct {
	Key   string `json:"key"`
	Lane  string `json:"lane"`
	Value string `json:"value"`
}

// Settings is what the operator asked for at start.
type Settings struct {
	Disabled       Bits       // lanes switched off by any of the switches
	OperatorOff    []KeyValue // keys exported to an off word
	OperatorPinned []KeyValue // keys exported to an on word
	exported       map[string]bool
}

// Resolve reads the switches: env keys and aliases, FLASHLANE_DISABLE and its alias, and the values of
// --disable-optimization. Off wins: the switches are ORed. An unknown lane or an unknown word is an error.
func Resolve(lookup func(key string) (string, bool), disable []string) (Settings, error) {
	s := Settings{exported: map[string]bool{}}
	for _, l := range All() {
		for _, key := range []string{l.spec().key, l.spec().alias} {
			raw, ok := lookup(key)
			if !ok || strings.TrimSpace(raw) == "" {
				continue
			}
			on, err := word(raw)
			if err != nil {
				return Settings{}, fmt.Errorf("%s: %w", key, err)
			}
			s.exported[key] = true
			kv := KeyValue{Key: key, Lane: l.String(), Value: raw}
			if on {
				s.OperatorPinned = append(s.OperatorPinned, kv)
				continue
			}
			s.OperatorOff = append(s.OperatorOff, kv)
			s.Disabled = s.Disabled.With(l, true)
		}
	}
	for _, key := range []string{disableKey, disableAlias} {
		raw, ok := lookup(key)
		if !ok || strings.TrimSpace(raw) == "" {
			continue
		}
		if err := s.disable(raw); err != nil {
			return Settings{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, raw := range disable {
		if err := s.disable(raw); err != nil {
			return Settings{}, fmt.Errorf("--disable-optimization: %w", err)
		}
	}
	return s, nil
}

// disable takes a comma-separated list of lanes, or "all".
func (s *Settings) disable(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "all" {
			for _, l := range All() {
				s.Disabled = s.Disabled.With(l, true)
			}
			continue
		}
		l, err := Parse(name)
		if err != nil {
			return fmt.Errorf("%w, or all", err)
		}
		s.Disabled = s.Disabled.With(l, true)
	}
	return nil
}

// word reads a switch's value.
func word(raw string) (bool, error) {
	w := strings.ToLower(strings.TrimSpace(raw))
	switch {
	case slices.Contains([]string{"1", "true", "yes", "on"}, w):
		return true, nil
	case slices.Contains([]string{"0", "false", "no", "off"}, w):
		return false, nil
	}
	return false, fmt.Errorf("got %q, want 1, true, yes, on or 0, false, no, off", raw)
}

// Armed lists the keys that this process armed by itself: neither exported nor disabled. Sorted.
func (s Settings) Armed(installed Bits) []string {
	out := []string{}
	for _, l := range All() {
		sp := l.spec()
		if installed.Has(l) && !s.Disabled.Has(l) && !s.exported[sp.key] && !s.exported[sp.alias] {
			out = append(out, sp.key)
		}
	}
	slices.Sort(out)
	return out
}

// Unread lists the exported keys of our family that nobody reads, for instance a misspelt switch. known are further keys
// that somebody does read.
func Unread(environ []string, known ...string) []string {
	read := map[string]bool{disableKey: true, disableAlias: true}
	for _, l := range All() {
		read[l.spec().key], read[l.spec().alias] = true, true
	}
	for _, k := range known {
		read[k] = true
	}
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		if (strings.HasPrefix(key, "FLASHLANE_") || strings.HasPrefix(key, "MTPLX_FABLE_")) && !read[key] {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
