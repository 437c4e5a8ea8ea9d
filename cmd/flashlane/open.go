package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
	"github.com/flashlane/flashlane/nano"
	"github.com/flashlane/flashlane/ple"
)

// packFlags choose a pack and the device it runs on.
type packFlags struct {
	Model     *string `help:"Folder of the pack. Default: the embedded nano pack." placeholder:"DIR"`
	Device    string  `help:"Device to run on: auto or cpu." default:"auto"`
	Precision string  `help:"Products of the CPU device: exact (activations are f32) or fast (8 bits: 1.2 to 1.6 times as quick, for a KL of some 0.003 nats a token: docs/adr/0014)." default:"exact"`
	Threads   int     `help:"CPU threads an operation may use; 0 means all cores." default:"0"`
	Context   int     `help:"Most positions of a request, prompt and answer together; 0 means the pack's max_position_embeddings." default:"0"`
	Memory    string  `name:"memory-limit" help:"Most memory for weights, caches and snapshots, for instance 8GiB or 512MiB. Default: what the machine or its cgroup has." placeholder:"SIZE"`
	Ngram     string  `name:"ngram-cache" help:"Most memory for the n-gram row cache; off holds no rows. Default: 1GiB, or a sixteenth of the memory limit if that is less." placeholder:"SIZE"`
	Place     string  `name:"ngram-placement" help:"Where n-gram rows are read from: memory (copied at load, within --memory-limit), mmap, file, or auto: memory up to 64 MiB, else mmap." default:"auto"`

	tableFile func(io.ReaderAt) io.ReaderAt // stands before n-gram table files, for measurement
}

// openPack opens the chosen pack and names it as the model id.
func (f packFlags) openPack() (*pack.Pack, string, error) {
	if f.Model == nil {
		files, ok := nano.Files()
		if !ok {
			return nil, "", errors.New("this binary was built without the embedded pack (tag nopack): give --model DIR")
		}
		p, err := pack.Open(pack.Files("nano", files))
		return p, "nano", err
	}
	if *f.Model == "" {
		return nil, "", errors.New("--model: got an empty name, want the folder of a pack (leave the flag out for the embedded one)")
	}
	src, err := pack.Dir(*f.Model)
	if err != nil {
		return nil, "", err
	}
	abs, err := filepath.Abs(*f.Model)
	if err != nil {
		return nil, "", fmt.Errorf("--model: %w", err)
	}
	p, err := pack.Open(src)
	return p, filepath.Base(abs), err
}

// openDevice opens the chosen device.
func (f packFlags) openDevice() (metal.Device, error) {
	switch f.Device {
	case "auto", "cpu":
		limit, err := parseSize(f.Memory)
		if err != nil {
			return nil, fmt.Errorf("--memory-limit: %w", err)
		}
		if most := 8 * runtime.NumCPU(); f.Threads > most {
			return nil, fmt.Errorf("--threads: got %d, want at most %d (eight for each core)", f.Threads, most)
		}
		precision, err := cpu.ParsePrecision(f.Precision)
		if err != nil {
			return nil, fmt.Errorf("--precision: %w", err)
		}
		dev, err := cpu.New(cpu.Options{Threads: f.Threads, Precision: precision, Memory: limit})
		if err != nil {
			return nil, err
		}
		dev.Beside(accountant.Resident()) // until the pack is loaded, and all can be weighed
		return dev, nil
	}
	return nil, fmt.Errorf("--device: got %q, want auto or cpu (flashlane doctor tells what this machine offers)", f.Device)
}

// check refuses what open would refuse before it loads weights.
func (f packFlags) check() error {
	p, _, err := f.openPack()
	if err != nil {
		return err
	}
	err = p.Verify()
	if most := p.Config.MaxPositions; err == nil && (f.Context < 0 || f.Context > most) {
		err = fmt.Errorf("--context: got %d, want 0 to the pack's %d", f.Context, most)
	}
	dev, failed := f.openDevice()
	if failed != nil {
		return errors.Join(err, failed, p.Close())
	}
	_, failed = f.options(p, dev)
	return errors.Join(err, failed, p.Close(), dev.Close())
}

// open opens both and loads the model.
func (f packFlags) open() (*bundle.Bundle, string, error) {
	p, id, err := f.openPack()
	if err != nil {
		return nil, "", err
	}
	dev, err := f.openDevice()
	if err != nil {
		return nil, "", errors.Join(err, p.Close())
	}
	o, err := f.options(p, dev)
	if err != nil {
		return nil, "", errors.Join(err, p.Close(), dev.Close())
	}
	less := f.less(p)
	b, err := bundle.Open(p, dev, o)
	if err != nil {
		return nil, "", errors.Join(f.unloaded(err, less), dev.Close())
	}
	return b, id, nil
}

// options are how the pack is loaded on a device.
func (f packFlags) options(p *pack.Pack, dev metal.Device) (bundle.Options, error) {
	rows, err := f.rowCache(dev)
	if err != nil {
		return bundle.Options{}, err
	}
	place, err := ple.ParsePlacement(f.Place)
	if err != nil {
		return bundle.Options{}, fmt.Errorf("--ngram-placement: %w", err)
	}
	if place != ple.Auto && len(p.Config.PLELayers) == 0 {
		return bundle.Options{}, fmt.Errorf("--ngram-placement: got %s, and the pack %s has no n-gram table: leave the flag out", place, p.Name)
	}
	return bundle.Options{Context: f.Context, PLECache: rows, Placement: place, TableFile: f.tableFile}, nil
}

// rowCache is the byte limit of the n-gram row cache; -1 holds no rows.
func (f packFlags) rowCache(dev metal.Device) (int64, error) {
	if f.Ngram == "off" || f.Ngram == "0" {
		return -1, nil
	}
	n, err := parseSize(f.Ngram)
	if err != nil {
		return 0, fmt.Errorf("--ngram-cache: %w, or off", err)
	}
	if host, ok := dev.(metal.Hosted); ok && n == 0 && host.Limit() > 0 {
		n = min(model.DefaultPLECache, host.Limit()/16)
	}
	return n, nil
}

// openModel opens the pack and the trunk alone, for what needs no template, head or actors. The function closes both.
func (f packFlags) openModel() (*model.Model, *pack.Pack, func() error, error) {
	fail := func(err error) (*model.Model, *pack.Pack, func() error, error) { return nil, nil, nil, err }
	p, _, err := f.openPack()
	if err != nil {
		return fail(err)
	}
	dev, err := f.openDevice()
	if err != nil {
		return fail(errors.Join(err, p.Close()))
	}
	o, err := f.options(p, dev)
	if err != nil {
		return fail(errors.Join(err, p.Close(), dev.Close()))
	}
	m, err := model.Load(p, dev, model.Options{Context: o.Context, PLECache: o.PLECache, Placement: o.Placement, TableFile: o.TableFile})
	if err != nil {
		return fail(errors.Join(f.unloaded(err, f.less(p)), p.Close(), dev.Close()))
	}
	return m, p, func() error {
		m.Close()
		return errors.Join(p.Close(), dev.Close())
	}, nil
}

// parseSize reads a size in bytes with an optional unit; empty is 0.
func parseSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	number, unit := s, int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*float64(unit) >= 1<<62 {
		return 0, fmt.Errorf("got %q, want a size such as 8GiB, 512MiB or 1000000000", s)
	}
	return int64(n * float64(unit)), nil
}
