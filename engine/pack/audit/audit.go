package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// maxListed is how many faults of one step are kept; the rest are counted.
const maxListed = 20

// Step is one kind of check.
type Step struct {
	Name   string
	Said   string  // what was looked at: "3 files, 735 tensors"
	Faults []error // each names file, tensor or field, and what was got and wanted
	more   int     // faults that were not kept
}

// Failed says that the step found faults.
func (s *Step) Failed() bool { return len(s.Faults) > 0 }

// Count is the number of faults.
func (s *Step) Count() int { return len(s.Faults) + s.more }

func (s *Step) add(err error) {
	switch {
	case err == nil:
	case len(s.Faults) < maxListed:
		s.Faults = append(s.Faults, err)
	default:
		s.more++
	}
}

// Audit is a pack under examination.
type Audit struct {
	p        *pack.Pack
	manifest manifest.Manifest
	listed   bool // there is a manifest

	mu    sync.Mutex
	steps []*Step
	scan  *Step
	sums  *Step
	bytes int64
	jobs  []Job
}

// New makes the checks that read little: headers, shapes, config.json, quantisation, constants, text files. The pack stays
// the caller's.
func New(p *pack.Pack) *Audit {
	a := &Audit{p: p}
	data, ok, err := p.File(manifest.Name)
	if ok && err == nil {
		a.manifest, err = manifest.Parse(data)
		a.listed = err == nil
	}
	a.headers()
	a.model()
	a.head()
	a.constants()
	a.text()
	a.sums = a.step("checksums")
	a.compareFiles(ok, err)
	a.scan = a.step("numbers")
	for _, t := range p.Tensors() {
		j := Job{a: a, tensor: t, Bytes: t.Bytes}
		if f, ok := a.manifest.Files[t.File]; ok {
			j.sum = f.Tensors[t.Name]
		}
		a.jobs = append(a.jobs, j)
		a.bytes += t.Bytes
	}
	a.scan.Said = fmt.Sprintf("%d tensors, %d bytes: none is NaN or infinite", len(a.jobs), a.bytes)
	slices.SortStableFunc(a.jobs, func(x, y Job) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return a
}

// Jobs read the tensors, the largest first. Each is run once; the steps are complete when all have run.
func (a *Audit) Jobs() []Job { return a.jobs }

// Steps are the checks in order, with what they found.
func (a *Audit) Steps() []*Step { return a.steps }

func (a *Audit) step(name string) *Step {
	s := &Step{Name: name}
	a.steps = append(a.steps, s)
	return s
}

// fault adds to a step while jobs run.
func (a *Audit) fault(s *Step, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.add(err)
}

// headers tells what pack.Open has checked, and finds files that nothing names.
func (a *Audit) headers() {
	s := a.step("headers")
	files, tensors := a.p.Files(), 0
	for _, f := range files {
		tensors += f.Tensors
	}
	strays, err := a.p.Strays()
	s.add(err)
	for _, name := range strays {
		s.add(fmt.Errorf("%s: got a file that neither config.json nor an index names, so nothing of it is used: remove it, or name it", name))
	}
	s.Said = fmt.Sprintf("%d safetensors files, %d tensors: lengths, names, shapes against bytes, every byte some tensor's", len(files), tensors)
}

// model checks that the trunk is whole, shape by shape, with the quantisation of config.json.
func (a *Audit) model() {
	c := &a.p.Config
	s := a.step("model")
	s.Said = fmt.Sprintf("%d pieces of a trunk of %d layers, vocabulary %d: names, shapes, types, bits and groups against config.json", len(c.Trunk()), c.Layers, c.Vocab)
	broken := a.p.Verify()
	s.add(broken)
	if broken == nil {
		for _, t := range a.p.StrayTensors() {
			s.add(fmt.Errorf("%s: tensor %q: got a tensor that is no piece of the model, so nothing of it is used: "+
				"remove it, or mend its name or config.json", t.File, t.Name))
		}
	}
	if unsaid := a.p.UnsaidCodes(); len(unsaid) > 0 {
		s.add(fmt.Errorf("config.json: quantization: got nothing for %d modules with codes, such as %q, want bits and group_size", len(unsaid), unsaid[0]))
	}
	for _, name := range a.p.StaleRules() {
		s.add(fmt.Errorf("config.json: quantization: got an entry for module %q, but the pack has no codes of that name", name))
	}
}

// head: a head that is there must fit. A pack without one is served at depth 0, which is no fault.
func (a *Audit) head() {
	s := a.step("MTP head")
	ok, why := a.p.HasMTP()
	if ok {
		s.Said = fmt.Sprintf("%d pieces: names, shapes, types", len(a.p.Config.Head()))
		return
	}
	s.Said = "none: " + why
	s.add(a.p.HeadFault())
}

// sideCar compares what the table's file says of itself beyond what loading it has compared: a group size where there are no
// groups.
func (a *Audit) sideCar(s *Step) {
	for _, t := range a.p.Tensors() {
		if t.Module != "ngram.weight" || t.DType == pack.U32 {
			continue
		}
		if got := a.p.Metadata(t.File)["ngram_group_size"]; got != "" && got != "0" {
			s.add(fmt.Errorf("%s: __metadata__ %q: got %s, want 0: %s has no codes", t.File, "ngram_group_size", got, t.Name))
		}
	}
}

// constants compares shipped hash constants with the config's; that the table has the rows they ask for is part of the
// model's check.
func (a *Audit) constants() {
	layers := a.p.Config.PLELayers
	if len(layers) == 0 {
		return
	}
	s := a.step("n-gram hash")
	s.Said = fmt.Sprintf("constants of %d PLE layers against config.json", len(layers))
	a.sideCar(s)
	for k := range layers {
		_, err := a.p.HashConstants(k)
		s.add(err)
	}
}

// text loads tokenizer and template as a server does.
func (a *Audit) text() {
	s := a.step("text")
	raw, ok, err := a.p.File("tokenizer.json")
	if err != nil || !ok {
		s.Said = "no tokenizer.json: logits works, serve does not"
		if err == nil && !a.listed { // a manifest without it says that it was made so
			err = errors.New("tokenizer.json: got no such file, want one: the pack cannot be served")
		}
		s.add(err)
		return
	}
	config, _, err := a.p.File("tokenizer_config.json")
	s.add(err)
	tok, err := tokenizer.Load(raw, config)
	if err != nil {
		s.add(err)
	} else if n, v := tok.Size(), a.p.Config.Vocab; n > v {
		s.add(fmt.Errorf("tokenizer.json: highest id: got %d, want below vocab_size %d", n-1, v))
	}
	source, _, err := a.p.File("chat_template.jinja")
	s.add(err)
	_, err = chat.OpenTemplate(source, config)
	s.add(err)
	s.Said = "tokenizer.json, its ids against vocab_size, chat template"
}

// compareFiles compares everything in the manifest but the tensors, which are for the jobs. there and err are of the manifest.
func (a *Audit) compareFiles(there bool, err error) {
	s := a.sums
	switch {
	case err != nil:
		s.Said = manifest.Name
		s.add(fmt.Errorf("%s: %w", manifest.Name, err))
		return
	case !there:
		s.Said = "no " + manifest.Name + ", so nothing to compare with"
		return
	}
	tensors := map[string]map[string]bool{}
	files := map[string]pack.FileInfo{}
	for _, f := range a.p.Files() {
		files[f.Name] = f
		tensors[f.Name] = map[string]bool{}
		if _, ok := a.manifest.Files[f.Name]; !ok {
			s.add(fmt.Errorf("%s: is not in %s, want every file of the pack there", f.Name, manifest.Name))
		}
	}
	for _, t := range a.p.Tensors() {
		tensors[t.File][t.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(a.manifest.Files)) {
		want := a.manifest.Files[name]
		if want.Header == "" {
			s.add(a.compareText(name, want))
			continue
		}
		f, ok := files[name]
		if !ok {
			s.add(fmt.Errorf("%s: got no such file in the pack, want the one %s lists", name, manifest.Name))
			continue
		}
		if f.Bytes != want.Bytes {
			s.add(fmt.Errorf("%s: got %d bytes, want %d by %s", name, f.Bytes, want.Bytes, manifest.Name))
		}
		if got := sum(a.p.Head(name)); got != want.Header {
			s.add(fmt.Errorf("%s: header: got SHA-256 %s, want %s by %s", name, got, want.Header, manifest.Name))
		}
		for _, t := range slices.Sorted(maps.Keys(want.Tensors)) {
			if !tensors[name][t] {
				s.add(fmt.Errorf("%s: tensor %q: got none, want the one %s lists", name, t, manifest.Name))
			}
		}
	}
	s.Said = fmt.Sprintf("%d files against %s (%s)", len(a.manifest.Files), manifest.Name, a.manifest.Made)
}

func (a *Audit) compareText(name string, want manifest.File) error {
	data, ok, err := a.p.File(name)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%s: got no such file in the pack, want the one %s lists", name, manifest.Name)
	case int64(len(data)) != want.Bytes:
		return fmt.Errorf("%s: got %d bytes, want %d by %s", name, len(data), want.Bytes, manifest.Name)
	}
	if got := sum(data); got != want.SHA256 {
		return fmt.Errorf("%s: got SHA-256 %s, want %s by %s", name, got, want.SHA256, manifest.Name)
	}
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
