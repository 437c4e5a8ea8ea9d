package main

import (
	"fmt"
	"strings"
)

// armFiles is everything asmgen writes for arm64, by name.
func armFiles() map[string]string {
	return map[string]string{
		"linear_neon_arm64.s":   armKernels(plainKernels),
		"fixed_dotprod_arm64.s": armKernels(dotKernels),
		"fixed_neon_arm64.s":    armKernels(wideKernels),
		"linear_arm64.go":       armDeclarations(),
		"fast_dotprod_arm64.s":  fastArmKernels(dotFast),
		"fast_neon_arm64.s":     fastArmKernels(wideFast),
		"fast_kernels_arm64.go": fastArmDeclarations(),
		"sweep_neon_arm64.s":    sweepsNEON(),
		"sweep_arm64.go":        sweepsNEONGo(),
		"lane_neon_arm64.s":     lanesNEON(),
		"attend_neon_arm64.s":   attendNEON(),
		"delta_neon_arm64.s":    deltaNEON(),
	}
}

// armSet is the kernels of some layouts for one instruction set.
type armSet struct {
	name, fill, comment string // fill names the Go function that puts them into a kernel set
	layouts             []lay
	rows                int
	kernel              func(w *arm, l lay, rows int)
	prepare             bool // affine layouts: there is a prepare<name> too
}

var (
	plainKernels = armSet{"NEON", "linearNEON", "the kernels of plain weights", []lay{f32, bf16}, 6, linearNEON, false}
	dotKernels   = armSet{"DotProd", "fixedDotProd", "those of affine weights that use the dot product", []lay{q8, q4}, 4, fixedDot, true}
	wideKernels  = armSet{"NEON", "fixedNEON", "those of affine weights for machines without it", []lay{q8, q4}, 3, fixedWide, true}
)

func (s armSet) kernelName(l lay, rows int) string {
	return fmt.Sprintf("linear%sx%d%s", layNames[l], rows, s.name)
}

func armKernels(s armSet) string {
	w := armFile()
	if s.prepare {
		prepareNEON(w, "prepare"+s.name, s.name == dotKernels.name)
	}
	for _, l := range s.layouts {
		for r := 1; r <= s.rows; r++ {
			w.begin(s.kernelName(l, r), "a *kernelArgs", 8, fmt.Sprintf("%s weights, rows of x: %d.", layNames[l], r))
			s.kernel(w, l, r)
		}
	}
	return w.String()
}

func armDeclarations() string {
	var b strings.Builder
	b.WriteString(header + "package cpu\n\nimport \"unsafe\"\n")
	for _, s := range []armSet{plainKernels, dotKernels, wideKernels} {
		if s.prepare {
			fmt.Fprintf(&b, "\n//go:noescape\nfunc prepare%s(dst unsafe.Pointer, x *float32, k, group, center int)\n", s.name)
		}
		for _, l := range s.layouts {
			for r := 1; r <= s.rows; r++ {
				fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *kernelArgs)\n", s.kernelName(l, r))
			}
		}
		fmt.Fprintf(&b, "\n// %s fills in %s.\nfunc %s(s *kernelSet) {\n", s.fill, s.comment, s.fill)
		for _, l := range s.layouts {
			names := make([]string, s.rows)
			for r := range names {
				names[r] = s.kernelName(l, r+1)
			}
			fmt.Fprintf(&b, "\ts.rows[lay%s] = %d\n", layNames[l], s.rows)
			fmt.Fprintf(&b, "\ts.linear[lay%s] = [maxRows]func(*kernelArgs){%s}\n", layNames[l], strings.Join(names, ", "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}
