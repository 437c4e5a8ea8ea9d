package main

import "fmt"

// Go's assembler lacks most of NEON's floating point, the widening multiplies and the dot product, so those are written as
// words. encoding is one such instruction: the bits that do not change, where its operands go, and its name in the manual's order.
type encoding struct {
	text string // operands: d destination, n and m sources, i element of m
	base uint32
	form form
}

// form says where the operands of an encoding go: destination bits 0-4, n bits 5-9 in all of them.
type form int

const (
	two      form = iota // d, n
	three                // d, n, m in bits 16-20
	byWord               // three with element i of 4, in bits 11 (high) and 21 (low)
	byHalf               // three with m below 16 in bits 16-19 and element i of 8, in bits 11, 21 and 20
	shifted              // d, n and a shift to the right by i bits of 32
	narrowed             // d and an immediate byte m in bits 16-18 and 5-9
)

// The instructions, from the Arm Architecture Reference Manual (DDI 0487), section C7.2.
var (
	fadd   = encoding{"fadd v%d.4s, v%d.4s, v%d.4s", 0x4e20d400, three}
	fsub   = encoding{"fsub v%d.4s, v%d.4s, v%d.4s", 0x4ea0d400, three}
	fmul   = encoding{"fmul v%d.4s, v%d.4s, v%d.4s", 0x6e20dc00, three}
	fdiv   = encoding{"fdiv v%d.4s, v%d.4s, v%d.4s", 0x6e20fc00, three}
	fcmge  = encoding{"fcmge v%d.4s, v%d.4s, v%d.4s", 0x6e20e400, three}
	fcmgt  = encoding{"fcmgt v%d.4s, v%d.4s, v%d.4s", 0x6ea0e400, three}
	bic    = encoding{"bic v%d.16b, v%d.16b, v%d.16b", 0x4e601c00, three}
	fneg   = encoding{"fneg v%d.4s, v%d.4s", 0x6ea0f800, two}
	scvtf  = encoding{"scvtf v%d.4s, v%d.4s", 0x4e21d800, two}
	fcvtns = encoding{"fcvtns v%d.4s, v%d.4s", 0x4e21a800, two}
	umaxv  = encoding{"umaxv s%d, v%d.4s", 0x6eb0a800, two}
	sshr   = encoding{"sshr v%d.4s, v%d.4s, #%d", 0x4f200400, shifted}
	sxtl   = encoding{"sxtl v%d.8h, v%d.8b", 0x0f08a400, two}
	bich   = encoding{"bic v%d.8h, #%d", 0x6f009400, narrowed}
	fmlaE  = encoding{"fmla v%d.4s, v%d.4s, v%d.s[%d]", 0x4f801000, byWord}
	fmulE  = encoding{"fmul v%d.4s, v%d.4s, v%d.s[%d]", 0x4f809000, byWord}
	sdot   = encoding{"sdot v%d.4s, v%d.16b, v%d.16b", 0x4e809400, three}
	sdotE  = encoding{"sdot v%d.4s, v%d.16b, v%d.4b[%d]", 0x4f80e000, byWord}
	smlalE = encoding{"smlal v%d.4s, v%d.4h, v%d.h[%d]", 0x0f402000, byHalf}
	smlal2 = encoding{"smlal2 v%d.4s, v%d.8h, v%d.h[%d]", 0x4f402000, byHalf}
)

// word encodes the operands of e, in the order of its text.
func (e encoding) word(at ...int) uint32 {
	bit := func(v, from, to int) uint32 { return uint32(v>>from&1) << to }
	check := func(v, below int) uint32 {
		if v < 0 || v >= below {
			panic(fmt.Sprintf("asmgen: %s: operand %d of %v is not below %d", e.text, v, at, below))
		}
		return uint32(v)
	}
	w := e.base | check(at[0], 32)
	if e.form == narrowed {
		return w | check(at[1], 256)>>5<<16 | uint32(at[1])&31<<5
	}
	w |= check(at[1], 32) << 5
	switch e.form {
	case three:
		w |= check(at[2], 32) << 16
	case byWord:
		w |= check(at[2], 32)<<16 | bit(int(check(at[3], 4)), 1, 11) | bit(at[3], 0, 21)
	case byHalf:
		w |= check(at[2], 16)<<16 | bit(int(check(at[3], 8)), 2, 11) | bit(at[3], 1, 21) | bit(at[3], 0, 20)
	case shifted:
		w |= (32 - check(at[2]-1, 32) - 1) << 16
	}
	return w
}

// arm writes arm64 assembly. Vector registers are plain numbers here.
type arm struct{ writer }

// enc writes an instruction that Go's assembler does not know.
func (w *arm) enc(e encoding, at ...int) {
	args := make([]any, len(at))
	for i, v := range at {
		args[i] = v
	}
	w.op("WORD $0x%08x // %s", e.word(at...), fmt.Sprintf(e.text, args...))
}

// armFile begins a file.
func armFile() *arm {
	w := new(arm)
	w.WriteString(header + "#include \"textflag.h\"\n#include \"go_asm.h\"\n")
	return w
}

// begin starts a function of the given argument list, whose size in bytes is size.
func (w *arm) begin(name, args string, size int, comment string) {
	fmt.Fprintf(w, "\n// func %s(%s)\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, args, comment, name, size)
}

// list names n consecutive registers from v on, as loads and stores want them.
func list(v, n int, of string) string {
	s := ""
	for i := range n {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("V%d.%s", v+i, of)
	}
	return "[" + s + "]"
}

// load reads n registers from v on and moves the address on behind them; store writes them.
func (w *arm) load(from string, v, n int) { w.op("VLD1.P %d(%s), %s", 16*n, from, list(v, n, "S4")) }
func (w *arm) store(v, n int, to string)  { w.op("VST1.P %s, %d(%s)", list(v, n, "S4"), 16*n, to) }
func (w *arm) zero(v int)                 { w.op("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v) }
func (w *arm) shl(n, from, to int)        { w.op("VSHL $%d, V%d.S4, V%d.S4", n, from, to) }
func (w *arm) shr(n, from, to int)        { w.op("VUSHR $%d, V%d.S4, V%d.S4", n, from, to) }
func (w *arm) add(b, a, to int)           { w.op("VADD V%d.S4, V%d.S4, V%d.S4", b, a, to) }
func (w *arm) and(b, a, to int)           { w.op("VAND V%d.B16, V%d.B16, V%d.B16", b, a, to) }
func (w *arm) dup(from, element, to int)  { w.op("VDUP V%d.S[%d], V%d.S4", from, element, to) }
func (w *arm) fmla(b, a, to int)          { w.op("VFMLA V%d.S4, V%d.S4, V%d.S4", b, a, to) }

// each calls f for 0 to n-1.
func (w *arm) each(n int, f func(v int)) {
	for v := range n {
		f(v)
	}
}

// down counts a register down and jumps to label unless it is 0.
func (w *arm) down(counter, label string) {
	w.op("SUBS $1, %s, %s", counter, counter)
	w.op("BNE %s", label)
}

// args reads arguments into registers.
func (w *arm) args(names ...string) {
	for i := 0; i < len(names); i += 2 {
		w.op("MOVD %s(FP), %s", names[i], names[i+1])
	}
}
