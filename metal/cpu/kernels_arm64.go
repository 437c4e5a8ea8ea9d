package cpu

import "golang.org/x/sys/cpu"

//go:generate go run ./asmgen

// kernelSets lists the sets this machine can run, best first. NEON is part of every arm64 machine that Go runs on; the dot
// product (FEAT_DotProd) came with Armv8.2 and is in all of Apple's and in servers since Neoverse N1.
func kernelSets() []*kernelSet {
	var sets []*kernelSet
	if !cpu.ARM64.HasASIMD {
		return []*kernelSet{goKernels()}
	}
	if cpu.ARM64.HasASIMDDP {
		s := &kernelSet{name: "dotprod", sweeps: sweepsNEON(), prepare: prepareDot, toFast: toFastDotProd}
		linearNEON(s)
		fixedDotProd(s)
		sets = append(sets, s)
	}
	s := &kernelSet{name: "neon", sweeps: sweepsNEON(), prepare: prepareWide, toFast: toFastNEON}
	linearNEON(s)
	fixedNEON(s)
	return append(sets, s, goKernels())
}

func sweepsNEON() sweeps {
	return wrapSweeps(4, siluMulNEON, sigmoidMulNEON, addGatedNEON, siluScaleNEON, expShiftNEON, addScaledNEON)
}
