package pack

import (
	"slices"
	"strings"
)

// Layout is the convention a pack's trunk is written in (spec 5.2).
type Layout uint8

// The layouts that load.
const (
	HF  Layout = iota // zero-centred norms raw (apply 1+w), convolutions [C, 1, K]
	MLX               // norms folded (1+w stored), convolutions [C, K, 1], affine quantisation, side-car table
)

// String names the layout as `pack inspect` shows it.
func (l Layout) String() string { return [...]string{"hf", "mlx"}[l] }

// detect tells the layout by what only one of the writers does, never by a name prefix: MLX quantises, names its stacked
// experts switch_mlp, keeps the table in a side-car, signs its files "mlx" and moves the convolution's taps. The shape of
// the convolutions is the cross-check: a wrong guess would put every norm off by one and still give fluent text.
func (a *archive) detect(h *hints) (Layout, error) {
	why := ""
	switch {
	case h.quant != nil:
		why = "config.json has MLX quantisation"
	case h.sidecar:
		why = "config.json has ngram_sidecar"
	case h.extras:
		why = "config.json has mlx_lm_extra_tensors"
	}
	names := make([]string, 0, len(a.tensors))
	for name := range a.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	var hfConv, mlxConv *tensor
	for _, name := range names {
		t := a.tensors[name]
		if foreign(name) {
			continue
		}
		if why == "" {
			switch {
			case strings.Contains(name, ".switch_mlp."):
				why = "tensor " + t.name
			case t.dtype == U32 && strings.HasSuffix(name, ".weight") && a.tensors[strings.TrimSuffix(name, "weight")+"scales"] != nil:
				why = "quantised tensor " + t.name
			case t.file.header.metadata["format"] == "mlx":
				why = "the metadata of " + t.file.name
			}
		}
		if (strings.HasSuffix(name, ".conv1d.weight") || strings.HasSuffix(name, ".ple.conv_weight")) && len(t.shape) == 3 {
			switch {
			case t.shape[1] == 1 && t.shape[2] > 1:
				hfConv = t
			case t.shape[1] > 1 && t.shape[2] == 1:
				mlxConv = t
			}
		}
	}
	if hfConv != nil && mlxConv != nil {
		return 0, corrupt("%s, as HF writes it, but %s, as MLX does: the norms' convention cannot be told", hfConv.describe(), mlxConv.describe())
	}
	if why != "" && hfConv != nil {
		return 0, corrupt("%s, as HF writes it, but %s says MLX: the norms' convention cannot be told", hfConv.describe(), why)
	}
	if why != "" || mlxConv != nil {
		return MLX, nil
	}
	return HF, nil
}
