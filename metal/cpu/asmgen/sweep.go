package main

import "fmt"

// sweep is an elementwise kernel: for i < n, a multiple of the vector, dst = f(dst, x, u, scale).
type sweep struct {
	name, comment string
	args          string // which of x, u and scale it reads: "x", "u", "s"
	sigma         bool   // starts from e = exp(-x) of its input x
	body          func(v vec)
}

// vec writes one vector's operations for AVX2; AVX-512 has sweep512.go.
type vec struct{ w *writer }

// Registers of the sweeps: 0 input x, 1 second operand, 2 scale, 3 t, 4 n, 5 r, 6 p then the result, 7 and 8 scratch.
func (v vec) op3(op string, b, a, dst int) { v.w.op("%s Y%d, Y%d, Y%d", op, b, a, dst) }

// constants are the rows of package cpu's sweepConsts, in order.
const (
	cLog2e = iota
	cMagic
	cLn2Hi
	cLn2Lo
	cC6
	cC5
	cC4
	cC3
	cC2
	cOne
	cMin
	cMax
	cInf
	cSign
	constants // those that all sets know
)

// What AVX-512 has besides.
const (
	cLow = constants + iota
	cHigh
)

// with applies op to register a and a constant.
func (v vec) with(op string, c, a, dst int) { v.w.op("%s %d(R8), Y%d, Y%d", op, 32*c, a, dst) }

// exp leaves the canonical exponential of register 7 in register 6. Every step is the one of expf32.
func (v vec) exp() {
	v.with("VMULPS", cLog2e, 7, 3)
	v.with("VADDPS", cMagic, 3, 3)
	v.with("VSUBPS", cMagic, 3, 4)
	v.with("VMULPS", cLn2Hi, 4, 5)
	v.op3("VSUBPS", 5, 7, 5)
	v.with("VMULPS", cLn2Lo, 4, 4)
	v.op3("VSUBPS", 4, 5, 5)
	v.with("VMULPS", cC6, 5, 6)
	v.with("VADDPS", cC5, 6, 6)
	for _, c := range []int{cC4, cC3, cC2, cOne, cOne} {
		v.op3("VMULPS", 6, 5, 6)
		v.with("VADDPS", c, 6, 6)
	}
	v.w.op("VPSLLD $23, Y3, Y3")
	v.op3("VPADDD", 3, 6, 6)
	v.w.op("VCMPPS $21, %d(R8), Y7, Y8", 32*cMin) // not less than
	v.w.op("VANDPS Y8, Y6, Y6")
	v.w.op("VCMPPS $22, %d(R8), Y7, Y8", 32*cMax) // not less or equal
	v.w.op("VADDPS %d(R8), Y7, Y7", 32*cInf)
	v.w.op("VBLENDVPS Y8, Y7, Y6, Y6")
}

// denominator leaves 1 + exp(-x) in register 6.
func (v vec) denominator() {
	v.with("VXORPS", cSign, 0, 7)
	v.exp()
	v.with("VADDPS", cOne, 6, 6)
}

func (v vec) silu() {
	v.denominator()
	v.op3("VDIVPS", 6, 0, 6)
}

func (v vec) sigmoid() {
	v.denominator()
	v.w.op("VMOVUPS %d(R8), Y7", 32*cOne)
	v.op3("VDIVPS", 6, 7, 6)
}

func (v vec) load(from string, to int) { v.w.op("VMOVUPS (%s)(AX*4), Y%d", from, to) }
func (v vec) store()                   { v.w.op("VMOVUPS Y6, (DI)(AX*4)") }

// sweeps: DI dst, SI x, DX u, AX index, CX end, R8 constants.
var sweeps = []sweep{
	{"siluMul", "dst = silu(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.silu()
		v.w.op("VMULPS (DX)(AX*4), Y6, Y6")
	}},
	{"sigmoidMul", "dst = sigmoid(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.sigmoid()
		v.w.op("VMULPS (DX)(AX*4), Y6, Y6")
	}},
	{"addGated", "dst += sigmoid(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.sigmoid()
		v.w.op("VMULPS (DX)(AX*4), Y6, Y6")
		v.w.op("VADDPS (DI)(AX*4), Y6, Y6")
	}},
	{"siluScale", "dst = silu(dst * scale)", "s", true, func(v vec) {
		v.load("DI", 0)
		v.op3("VMULPS", 2, 0, 0)
		v.silu()
	}},
	{"expShift", "dst = exp(dst - scale)", "s", true, func(v vec) {
		v.load("DI", 7)
		v.op3("VSUBPS", 2, 7, 7)
		v.exp()
	}},
	{"addScaled", "dst += x * scale", "xs", false, func(v vec) {
		v.w.op("VMULPS (SI)(AX*4), Y2, Y6")
		v.w.op("VADDPS (DI)(AX*4), Y6, Y6")
	}},
}

// open begins the function of a sweep for n a multiple of lanes; scale goes to that register.
func (k *sweep) open(w *writer, s set, lanes int, scale string) {
	name := k.name + s.name
	fmt.Fprintf(w, "\n// func %s(dst, x, u *float32, n int, scale float32)\n// %s, n a multiple of %d.\nTEXT ·%s(SB), NOSPLIT, $0-36\n",
		name, k.comment, lanes, name)
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ n+24(FP), CX")
	for _, a := range k.args {
		switch a {
		case 'x':
			w.op("MOVQ x+8(FP), SI")
		case 'u':
			w.op("MOVQ u+16(FP), DX")
		case 's':
			w.op("VBROADCASTSS scale+32(FP), %s", scale)
		}
	}
}

func sweepAssembly() string {
	w := new(writer)
	w.WriteString(header + "#include \"textflag.h\"\n")
	for _, k := range sweeps {
		k.open(w, avx2, 8, "Y2")
		if k.sigma {
			w.op("LEAQ ·sweepConsts(SB), R8")
		}
		w.op("XORL AX, AX")
		w.label("loop")
		v := vec{w}
		k.body(v)
		v.store()
		w.op("ADDQ $8, AX")
		w.op("CMPQ AX, CX")
		w.op("JLT loop")
		w.op("VZEROUPPER")
		w.op("RET")
	}
	return w.String()
}

func sweepDeclarations() string {
	w := new(writer)
	w.WriteString(header + "package cpu\n")
	for _, s := range []set{avx512, avx2} {
		for _, k := range sweeps {
			fmt.Fprintf(w, "\n//go:noescape\nfunc %s%s(dst, x, u *float32, n int, scale float32)\n", k.name, s.name)
		}
	}
	return w.String()
}
