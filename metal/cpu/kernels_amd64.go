package cpu

import "golang.org/x/sys/cpu"

//go:generate go run ./asmgen

// kernelSets lists the sets this machine can run, best first.
func kernelSets() []*kernelSet {
	var sets []*kernelSet
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512DQ {
		s := &kernelSet{name: "avx512", sweeps: sweepsAVX512()}
		linearAVX512(s)
		if x.HasAVX512VNNI {
			fixedAVX512(s)
			s.prepare, s.toFast = prepareVNNI, func(s *kernelSet) {
				fastAVX512(s)
				s.prepare = prepareFastVNNI
			}
		} else {
			fixedAVX2(s)
			s.prepare, s.toFast = prepareWords, toFastAVX2
		}
		sets = append(sets, s)
	}
	if x.HasAVX2 && x.HasFMA {
		s := &kernelSet{name: "avx2", sweeps: sweepsAVX2(), prepare: prepareWords, toFast: toFastAVX2}
		linearAVX2(s)
		fixedAVX2(s)
		sets = append(sets, s)
	}
	return append(sets, goKernels())
}

// toFastAVX2 is for machines without VNNI.
func toFastAVX2(s *kernelSet) {
	fastAVX2(s)
	s.prepare = prepareFast
}

func sweepsAVX512() sweeps {
	return wrapSweeps(16, siluMulAVX512, sigmoidMulAVX512, addGatedAVX512, siluScaleAVX512, expShiftAVX512, addScaledAVX512)
}

func sweepsAVX2() sweeps {
	return wrapSweeps(8, siluMulAVX2, sigmoidMulAVX2, addGatedAVX2, siluScaleAVX2, expShiftAVX2, addScaledAVX2)
}
