package pack

import (
	"errors"
	"fmt"
	"strings"
)

// maxListed is how many faults of a broken pack are spelled out.
const maxListed = 20

// Verify checks that every tensor of the trunk is there in a shape and type the engine can run, without reading weights.
// The error lists what is wrong, the first twenty in full; it wraps the sentinels of all of them. A head that does not fit
// is not an error: see HasMTP.
func (p *Pack) Verify() error {
	m := checklist{l: lookup{p: p, dry: true}}
	m.trunk()
	errs := m.errs
	if len(errs) == 0 {
		return nil
	}
	if len(errs) > maxListed {
		errs = append(errs[:maxListed:maxListed], missing("and %d more", len(m.errs)-maxListed))
	}
	return named(p.Name, errors.Join(errs...))
}

// HasMTP reports whether the pack has an MTP head that this engine can run, and if not, why.
func (p *Pack) HasMTP() (bool, string) { return p.noHead == "", p.noHead }

// HeadFault is what is wrong with the MTP head that config.json or a tensor says is there; nil if the head can be used, or if
// there is none. A pack with such a fault is served at depth 0.
func (p *Pack) HeadFault() error {
	if p.noHead == "" {
		return nil
	}
	for _, t := range p.Tensors() {
		if strings.HasPrefix(t.Module, "mtp.") {
			return corrupt("%s: tensor %q: got a tensor of a head that cannot be used: %s", t.File, t.Name, p.noHead)
		}
	}
	if p.Config.MTPLayers > 0 || p.hints.mtpFile != "" {
		return missing("config.json says that there is a head, but %s", p.noHead)
	}
	return nil
}

// checkHead decides about the head when the pack is opened: a missing or misfitting head costs drafting, not the pack
// (design 7). Where config.json is silent the tensors decide.
func (p *Pack) checkHead() string {
	if p.hints.mtpSilent {
		for name := range p.arch.tensors {
			if strings.HasPrefix(name, "mtp.") {
				p.Config.MTPLayers = 1
				break
			}
		}
	}
	if p.Config.MTPLayers == 0 {
		return "the pack has no MTP head"
	}
	if p.hints.mtpMisfit != "" {
		return p.hints.mtpMisfit
	}
	m := checklist{l: lookup{p: p, dry: true}}
	m.head()
	if len(m.errs) == 0 {
		return ""
	}
	const shown = 3
	parts := make([]string, 0, shown+1)
	for i, err := range m.errs {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(m.errs)-shown))
			break
		}
		parts = append(parts, err.Error())
	}
	return "the MTP head does not fit: " + strings.Join(parts, "; ")
}
