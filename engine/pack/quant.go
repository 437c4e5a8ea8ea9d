package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// quant is the MLX quantisation of config.json: a default and overrides by module (spec 5.3).
type quant struct {
	rule    quantRule
	modules map[string]quantRule // by canonical module name
}

// quantRule is how one module is quantised; off means that config.json says it is not.
type quantRule struct {
	bits, group int
	mode        string
	off         bool
	field       string // where config.json says so, for errors
}

// parseQuant reads "quantization", or "quantization_config" where that has MLX's shape; nil if there is neither. MLX's writers
// give both, and they must say the same: other readers take the second.
func parseQuant(f *fields) *quant {
	first, second := readQuant(f, "quantization"), mlxQuantConfig(f)
	if first == nil {
		return second
	}
	if second != nil {
		first.compare(f, second)
	}
	return first
}

// mlxQuantConfig reads "quantization_config"; nil if it is not there or of another scheme: a tensor in its format will say so
// when it is used.
func mlxQuantConfig(f *fields) *quant {
	if f.m["quantization_config"] == nil {
		return nil
	}
	if q := f.object("quantization_config"); q == nil || q.has("quant_method") || !q.has("bits") {
		return nil
	}
	return readQuant(f, "quantization_config")
}

// compare fails where second, from "quantization_config", contradicts q: in the default, or in what either says of a module.
func (q *quant) compare(f *fields, second *quant) {
	differ := func(what string, a, b quantRule) {
		if a.says() != b.says() {
			f.fail(corrupt("%s and %s contradict each other%s: got %s and %s, want the same in both, or one of them only",
				f.name("quantization"), f.name("quantization_config"), what, a.says(), b.says()))
		}
	}
	differ("", q.rule, second.rule)
	names := maps.Clone(q.modules)
	maps.Copy(names, second.modules)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		differ(fmt.Sprintf(" about module %q", name), q.of(name), second.of(name))
	}
}

// of is the rule of a module, which is the default where nothing is said of it.
func (q *quant) of(module string) quantRule {
	if r, ok := q.modules[module]; ok {
		return r
	}
	return q.rule
}

// says is the rule in words, without where it stands. MLX's mode is affine where none is named.
func (r quantRule) says() string {
	if r.off {
		return "no codes"
	}
	return fmt.Sprintf("%d bits in groups of %d, mode %s", r.bits, r.group, cmp.Or(r.mode, "affine"))
}

func readQuant(f *fields, key string) *quant {
	q := f.object(key)
	if q == nil {
		return nil
	}
	out := &quant{rule: readRule(q), modules: map[string]quantRule{}}
	for _, key := range slices.Sorted(maps.Keys(q.m)) {
		switch v := q.m[key].(type) {
		case map[string]any:
			r := readRule(q.object(key))
			if r.mode == "" {
				r.mode = out.rule.mode
			}
			out.modules[canonical(key)] = r
		case bool:
			if !v {
				out.modules[canonical(key)] = quantRule{off: true, field: q.name(key)}
			}
		}
	}
	return out
}

func readRule(f *fields) quantRule {
	return quantRule{
		bits:  int(f.integerOr("bits", 0, 1, 32)),
		group: int(f.integerOr("group_size", 0, 1, 1<<20)),
		mode:  f.textOr("mode", ""),
		field: f.file + ": " + f.path,
	}
}

// check compares what a module's shapes say with config.json. Modules of the MTP head follow only rules that name them:
// its file is written apart from the trunk, and the default is the trunk's.
func (q *quant) check(module string, bits, group int, head bool) error {
	if q == nil {
		return nil
	}
	r, named := q.modules[module]
	if !named {
		if head {
			return nil
		}
		r = q.rule
	}
	switch {
	case r.off:
		return corrupt("module %q: got quantised codes, but %s says it is not quantised", module, r.field)
	case r.mode != "" && r.mode != "affine":
		return unsupported("module %q: %s.mode: got %q, want affine", module, r.field, r.mode)
	case r.bits != 0 && r.bits != bits, r.group != 0 && r.group != group:
		return corrupt("module %q: got %d bits in groups of %d by its shapes, want %d bits in groups of %d by %s", module, bits, group, r.bits, r.group, r.field)
	}
	return nil
}
