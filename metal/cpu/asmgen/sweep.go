package main

import "fmt"

// sweep is an elementwise kernel: for i < n, a multiple of the vector, dst = f(dst, x, u, scale).
type sweep struct {
	name, comment string
	args          string // which of x, u and scale it reads: "x", "u", "s"
	sigma         bool   // starts from e = exp(-x) of its input x
	body          func(v vec)
}

// vec writes one vector's operations. Roles of registers: x input, u second input, y old dst, e result.
type vec struct {
	w   *writer
	reg string // "Z" or "Y"
	len int    // bytes
}

// Registers of the sweeps: 0 input x, 1 second operand, 2 scale, 3 t, 4 n, 5 r, 6 p then the result, 7 and 8 scratch.
func (v vec) r(n int) string { return fmt.Sprintf("%s%d", v.reg, n) }

func (v vec) op3(op string, b, a, dst int) { v.w.op("%s %s, %s, %s", op, v.r(b), v.r(a), v.r(dst)) }

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
	constants
)

// with applies op to register a and a constant: AVX-512 keeps them in Z16.., AVX2 reads memory.
func (v vec) with(op string, c, a, dst int) {
	if v.reg == "Z" {
		v.w.op("%s Z%d, Z%d, Z%d", op, 16+c, a, dst)
	} else {
		v.w.op("%s %d(R8), Y%d, Y%d", op, 32*c, a, dst)
	}
}

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
	v.w.op("VPSLLD $23, %s, %s", v.r(3), v.r(3))
	v.op3("VPADDD", 3, 6, 6)
	if v.reg == "Z" {
		v.w.op("VCMPPS $21, Z%d, Z7, K1", 16+cMin) // not less than
		v.w.op("VMOVAPS.Z Z6, K1, Z6")
		v.w.op("VCMPPS $22, Z%d, Z7, K2", 16+cMax) // not less or equal
		v.w.op("VADDPS Z%d, Z7, K2, Z6", 16+cInf)
		return
	}
	v.w.op("VCMPPS $21, %d(R8), Y7, Y8", 32*cMin)
	v.w.op("VANDPS Y8, Y6, Y6")
	v.w.op("VCMPPS $22, %d(R8), Y7, Y8", 32*cMax)
	v.w.op("VADDPS %d(R8), Y7, Y7", 32*cInf)
	v.w.op("VBLENDVPS Y8, Y7, Y6, Y6")
}

// denominator leaves 1 + exp(-x) in register 6.
func (v vec) denominator() {
	xor := "VXORPS"
	if v.reg == "Z" {
		xor = "VPXORD"
	}
	v.with(xor, cSign, 0, 7)
	v.exp()
	v.with("VADDPS", cOne, 6, 6)
}

func (v vec) silu() {
	v.denominator()
	v.op3("VDIVPS", 6, 0, 6)
}

func (v vec) sigmoid() {
	v.denominator()
	if v.reg == "Z" {
		v.w.op("VDIVPS Z6, Z%d, Z6", 16+cOne)
	} else {
		v.w.op("VMOVUPS %d(R8), Y7", 32*cOne)
		v.op3("VDIVPS", 6, 7, 6)
	}
}

func (v vec) load(from string, to int) { v.w.op("VMOVUPS (%s)(AX*4), %s", from, v.r(to)) }
func (v vec) store()                   { v.w.op("VMOVUPS %s, (DI)(AX*4)", v.r(6)) }

// sweeps: DI dst, SI x, DX u, AX index, CX end, R8 constants.
var sweeps = []sweep{
	{"siluMul", "dst = silu(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.silu()
		v.w.op("VMULPS (DX)(AX*4), %s, %s", v.r(6), v.r(6))
	}},
	{"sigmoidMul", "dst = sigmoid(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.sigmoid()
		v.w.op("VMULPS (DX)(AX*4), %s, %s", v.r(6), v.r(6))
	}},
	{"addGated", "dst += sigmoid(x) * u", "xu", true, func(v vec) {
		v.load("SI", 0)
		v.sigmoid()
		v.w.op("VMULPS (DX)(AX*4), %s, %s", v.r(6), v.r(6))
		v.w.op("VADDPS (DI)(AX*4), %s, %s", v.r(6), v.r(6))
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
		v.w.op("VMULPS (SI)(AX*4), %s, %s", v.r(2), v.r(6))
		v.w.op("VADDPS (DI)(AX*4), %s, %s", v.r(6), v.r(6))
	}},
}

func sweepAssembly(s set, reg string, length int) string {
	w := new(writer)
	w.WriteString(header + "#include \"textflag.h\"\n")
	v := vec{w, reg, length}
	for _, k := range sweeps {
		name := k.name + s.name
		fmt.Fprintf(w, "\n// func %s(dst, x, u *float32, n int, scale float32)\n// %s, n a multiple of %d.\nTEXT ·%s(SB), NOSPLIT, $0-36\n",
			name, k.comment, length/4, name)
		w.op("MOVQ dst+0(FP), DI")
		w.op("MOVQ n+24(FP), CX")
		for _, a := range k.args {
			switch a {
			case 'x':
				w.op("MOVQ x+8(FP), SI")
			case 'u':
				w.op("MOVQ u+16(FP), DX")
			case 's':
				w.op("VBROADCASTSS scale+32(FP), %s", v.r(2))
			}
		}
		if k.sigma {
			w.op("LEAQ ·sweepConsts(SB), R8")
			if reg == "Z" {
				for c := range constants {
					w.op("VBROADCASTSS %d(R8), Z%d", 32*c, 16+c)
				}
			}
		}
		w.op("XORL AX, AX")
		w.label("loop")
		k.body(v)
		v.store()
		w.op("ADDQ $%d, AX", length/4)
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
