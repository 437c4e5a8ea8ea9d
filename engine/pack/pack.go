package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// Pack is an opened pack: the checked geometry and every tensor where it lies. It is immutable and safe for concurrent
// use until Close.
type Pack struct {
	Name       string
	Layout     Layout
	Config     Config
	Generation Generation

	src    Source
	config []byte // config.json as it is
	arch   archive
	hints  hints

	noHead string // why the MTP head cannot be used, "" if it can

	once        sync.Once
	fingerprint string
}

// Open reads config.json, generation_config.json and the headers of all safetensors files. It checks the geometry, every
// header and that names are unique; weights are not touched. Whether all tensors of the model are there is for
// [Pack.Verify] and the accessors, so that a half-written pack can still be inspected.
//
// The error wraps ErrCorrupt, ErrMissing or ErrUnsupported and names file, field or tensor. Open takes over src and
// closes it if it fails.
func Open(src Source) (*Pack, error) {
	p := &Pack{Name: src.Name(), src: src, arch: archive{src: src, tensors: map[string]*tensor{}}}
	if err := p.open(); err != nil {
		return nil, errors.Join(named(p.Name, err), src.Close())
	}
	return p, nil
}

func (p *Pack) open() error {
	var ok bool
	var err error
	p.config, ok, err = p.File("config.json")
	if err != nil {
		return err
	}
	if !ok {
		return missing("config.json: no such file in the pack")
	}
	if p.Config, p.hints, err = parseConfig(p.config); err != nil {
		return err
	}
	if err := p.readGeneration(); err != nil {
		return err
	}
	if err := p.arch.openTrunk(); err != nil {
		return err
	}
	if err := p.openTable(); err != nil {
		return err
	}
	if err := p.openHead(); err != nil {
		return err
	}
	if p.Layout, err = p.arch.detect(&p.hints); err != nil {
		return err
	}
	if p.noHead == "" {
		p.noHead = p.checkHead()
	}
	return nil
}

func (p *Pack) readGeneration() error {
	data, ok, err := p.File("generation_config.json")
	if err != nil || !ok {
		return err
	}
	if p.Generation, err = parseGeneration(data, p.Config.Vocab); err != nil {
		return err
	}
	p.Config.StopIDs = union(p.Generation.EOS, p.Config.StopIDs)
	return nil
}

// openTable opens the side-car of the n-gram table if the pack has one.
func (p *Pack) openTable() error {
	if len(p.Config.PLELayers) == 0 {
		return nil
	}
	name, wanted := p.hints.ngramFile, p.hints.ngramFile != "" || p.hints.sidecar
	if name == "" {
		name = "ngram-table.safetensors"
	}
	if _, err := p.arch.open(name); err != nil && (wanted || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	return nil
}

// openHead opens the file of the MTP head. A file that is named but not there costs the head, not the pack.
func (p *Pack) openHead() error {
	name := p.hints.mtpFile
	if name == "" {
		name = "mtp.safetensors"
	}
	_, err := p.arch.open(name)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case p.hints.mtpFile != "":
		p.noHead = fmt.Sprintf("config.json names %s for the MTP head, but there is no such file", name)
	}
	return nil
}

// Close gives back the mappings. Specs, planes and file bytes taken from the pack must not be used afterwards.
func (p *Pack) Close() error { return p.src.Close() }

// File returns a file of the pack that is read whole: tokenizer.json, chat_template.jinja. false says that there is none.
// The bytes are read-only.
func (p *Pack) File(name string) ([]byte, bool, error) {
	blob, err := p.src.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, named(p.Name, err)
	}
	return blob.Data, true, nil
}
