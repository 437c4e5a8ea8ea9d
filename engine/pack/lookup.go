package pack

import (
	"fmt"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// lookup resolves names to tensors and checks what it finds. With used set it records the tensors; dry makes it check
// only, without converting or transposing anything.
type lookup struct {
	p    *Pack
	used map[*tensor]bool
	dry  bool
}

// find returns the first tensor there is among the names.
func (l *lookup) find(names ...string) (*tensor, error) {
	for _, name := range names {
		if t := l.p.arch.tensors[name]; t != nil {
			if l.used != nil {
				l.used[t] = true
			}
			return t, nil
		}
	}
	return nil, missing("tensor %q is in no file of the pack (with or without a prefix such as %q)", names[0], prefixes[0])
}

// has reports whether a tensor is there, without counting it as used.
func (l *lookup) has(name string) bool { return l.p.arch.tensors[name] != nil }

// shaped is find with a check of the shape, given as alternatives.
func shaped(t *tensor, want ...[]int64) error {
	for _, w := range want {
		if slices.Equal(t.shape, w) {
			return nil
		}
	}
	text := ""
	for i, w := range want {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprint(w)
	}
	return corrupt("%s, want %s", t.describe(), text)
}

// format is the device format of a plain float tensor.
func (t *tensor) format() (metal.Format, error) {
	switch t.dtype {
	case F32:
		return metal.FormatF32, nil
	case F16:
		return metal.FormatF16, nil
	case BF16:
		return metal.FormatBF16, nil
	}
	return 0, unsupported("%s, want F32, F16 or BF16 (or U32 codes with scales and biases)", t.describe())
}

// floats widens a float tensor to f32 and refuses NaN and infinity: these small tensors are part of every token.
func (t *tensor) floats() ([]float32, error) {
	if !t.dtype.float() {
		return nil, unsupported("%s, want F32, F16 or BF16", t.describe())
	}
	out := make([]float32, t.elements())
	Decode(out, t.data(), t.dtype)
	for i, v := range out {
		if v-v != 0 {
			return nil, corrupt("%s with %v at element %d, want finite numbers", t.describe(), v, i)
		}
	}
	return out, nil
}
