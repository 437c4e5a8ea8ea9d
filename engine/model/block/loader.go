package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// Loader brings a pack's tensors to a device. The first error sticks, later calls do nothing, and Done reports it, so
// that loading code reads as a list of tensors. It remembers all it loaded: Free gives everything back.
type Loader struct {
	Pack   *pack.Pack
	Device metal.Device

	held []interface{ Free() }
	err  error
}

// NewLoader returns a loader without anything loaded.
func NewLoader(p *pack.Pack, dev metal.Device) *Loader { return &Loader{Pack: p, Device: dev} }

// Err is the first error; it names the tensor.
func (l *Loader) Err() error { return l.err }

// Fail makes err the loader's error unless it has one.
func (l *Loader) Fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Hold adds something to what Free frees.
func (l *Loader) Hold(x interface{ Free() }) { l.held = append(l.held, x) }

// Free gives back everything that was loaded.
func (l *Loader) Free() {
	for _, x := range l.held {
		x.Free()
	}
	l.held = nil
}

// Linear loads the weight [rows, cols] called name.
func (l *Loader) Linear(name string, rows, cols int) metal.Weight {
	if l.err != nil {
		return nil
	}
	spec, err := l.Pack.Linear(name, rows, cols)
	if err != nil {
		l.Fail(err)
		return nil
	}
	return l.load(spec)
}

func (l *Loader) load(spec metal.WeightSpec) metal.Weight {
	if l.err != nil {
		return nil
	}
	w, err := l.Device.Load(spec)
	if err != nil {
		l.Fail(err)
		return nil
	}
	l.Hold(w)
	l.Pack.Leave(spec)
	return w
}

// Experts loads the routed experts below prefix: gate and up [E][inner, H], down [E][H, inner].
func (l *Loader) Experts(prefix string) (gate, up, down metal.Weight) {
	if l.err != nil {
		return nil, nil, nil
	}
	g, u, d, err := l.Pack.Experts(prefix)
	if err != nil {
		l.Fail(err)
		return nil, nil, nil
	}
	return l.load(g), l.load(u), l.load(d)
}

// Norm loads the effective weight (1+w) of a zero-centred norm.
func (l *Loader) Norm(name string, n int) metal.Vec {
	if l.err != nil {
		return metal.Vec{}
	}
	f, err := l.Pack.Norm(name, n)
	return l.vec(f, err)
}

// Vector loads n values as they are stored.
func (l *Loader) Vector(name string, n int) metal.Vec { return l.vec(l.Values(name, n), l.err) }

// Values reads n values as they are stored, to the host.
func (l *Loader) Values(name string, n int) []float32 {
	if l.err != nil {
		return nil
	}
	f, err := l.Pack.Vector(name, n)
	if err != nil {
		l.Fail(err)
	}
	return f
}

// Conv loads a depthwise kernel as [taps, channels].
func (l *Loader) Conv(name string, channels, taps int) metal.Vec {
	if l.err != nil {
		return metal.Vec{}
	}
	f, err := l.Pack.Conv(name, channels, taps)
	return l.vec(f, err)
}

// Put brings host values to the device.
func (l *Loader) Put(f []float32) metal.Vec { return l.vec(f, l.err) }

func (l *Loader) vec(f []float32, err error) metal.Vec {
	if l.err != nil {
		return metal.Vec{}
	}
	if err != nil {
		l.Fail(err)
		return metal.Vec{}
	}
	b, err := l.Device.Alloc(metal.F32, len(f))
	if err != nil {
		l.Fail(err)
		return metal.Vec{}
	}
	l.Hold(b)
	v := metal.NewVec(b)
	st := l.Device.NewStream()
	st.Write(v, f)
	if err := st.Sync(); err != nil {
		l.Fail(err)
	}
	return v
}
