package metal

// A device claims a fused block by implementing one of the interfaces in this file on its Stream. Callers use the
// functions of the same name, which fall back to the default composition; conform runs both and compares.

// Mixer is the weights of one gated residual ("hyper-connection", spec 2.2).
type Mixer struct {
	Norm    Vec    // [W], 1+w
	Down    Weight // [R, W]
	Up      Weight // [W, R]
	Inject  Weight // [S, W]; nil in the two final mixers
	Streams int
	Eps     float32
}

// MixScratch is the room a Mix needs: Normed and Gate [R, W], Low [R, lowrank].
type MixScratch struct {
	Normed, Gate, Low Mat
}

// FusedMix is the capability behind Mix.
type FusedMix interface {
	Mix(u, c, x Mat, m *Mixer, s MixScratch)
}

// Mix turns streams x [R, W] into a block's input u [R, H] and its injection weights c [R, S] (spec 2.2).
// c is ignored when the mixer has no Inject. On return s holds nothing a caller may rely on.
func Mix(st Stream, u, c, x Mat, m *Mixer, s MixScratch) {
	if f, ok := st.(FusedMix); ok {
		f.Mix(u, c, x, m, s)
		return
	}
	ComposeMix(st, u, c, x, m, s)
}

// ComposeMix is the default composition of Mix.
func ComposeMix(st Stream, u, c, x Mat, m *Mixer, s MixScratch) {
	scale := 1 / float32(m.Streams)
	st.Norm(s.Normed, x, m.Norm, m.Streams, m.Eps)
	st.Linear(s.Low, s.Normed, m.Down)
	st.SiluScale(s.Low, scale)
	st.Linear(s.Gate, s.Low, m.Up)
	st.MixStreams(u, s.Gate, s.Normed, m.Streams)
	if m.Inject != nil {
		st.Linear(c, s.Normed, m.Inject)
		st.Gain(c, scale)
	}
}

// DeltaNet is the weights of a gated delta net block (spec 2.4).
type DeltaNet struct {
	QKV  Weight // [2*KeyHeads*KeyDim + ValueHeads*ValueDim, H]
	Z    Weight // [ValueHeads*ValueDim, H]
	B, A Weight // [ValueHeads, H]
	Conv Vec    // [Taps, channels of QKV]
	Rate Vec    // [ValueHeads], -exp(A_log)
	Bias Vec    // [ValueHeads], dt_bias
	Norm Vec    // [ValueDim]
	Out  Weight // [H, ValueHeads*ValueDim]

	Taps  int
	Shape DeltaShape
	Eps   float32
	Act   Activation
}

// DeltaNetRows is what a pass's rows leave for a commit: the convolution's input and output [R, channels], and the step
// sizes [R, ValueHeads].
type DeltaNetRows struct {
	Pre, Post, Beta, Decay Mat
}

// DeltaNetScratch is the room a RunDeltaNet needs: Z and O [R, ValueHeads*ValueDim], B and A [R, ValueHeads].
type DeltaNetScratch struct {
	Z, O, B, A Mat
}

// FusedDeltaNet is the capability behind RunDeltaNet.
type FusedDeltaNet interface {
	RunDeltaNet(x, c, y, u Mat, n *DeltaNet, rows DeltaNetRows, s DeltaNetScratch, conv []ConvSpan, delta []DeltaSpan)
}

// RunDeltaNet sets y [R, H] to the block's answer to u [R, H] and adds it to the streams: x [R, W] gets c [R, S] * y. The
// spans cover all rows, the same ones in conv and delta.
func RunDeltaNet(st Stream, x, c, y, u Mat, n *DeltaNet, rows DeltaNetRows, s DeltaNetScratch, conv []ConvSpan, delta []DeltaSpan) {
	if f, ok := st.(FusedDeltaNet); ok {
		f.RunDeltaNet(x, c, y, u, n, rows, s, conv, delta)
		return
	}
	ComposeDeltaNet(st, x, c, y, u, n, rows, s, conv, delta)
}

// ComposeDeltaNet is the default composition of RunDeltaNet.
func ComposeDeltaNet(st Stream, x, c, y, u Mat, n *DeltaNet, rows DeltaNetRows, s DeltaNetScratch, conv []ConvSpan, delta []DeltaSpan) {
	st.Linear(rows.Pre, u, n.QKV)
	st.Linear(s.Z, u, n.Z)
	st.Linear(s.B, u, n.B)
	st.Linear(s.A, u, n.A)
	st.Conv(rows.Post, rows.Pre, n.Conv, n.Taps, 1, conv)
	st.Decay(rows.Beta, rows.Decay, s.B, s.A, n.Rate, n.Bias)
	st.Delta(s.O, rows.Post, rows.Beta, rows.Decay, n.Shape, delta)
	st.GatedNorm(s.O, s.O, s.Z, n.Norm, n.Eps, n.Act)
	st.Linear(y, s.O, n.Out)
	st.Inject(x, c, y)
}

// MoE is the weights of a block of routed experts and a shared one (spec 2.6).
type MoE struct {
	Router           Weight // [E, H]
	Gate, Up, Down   Weight // E matrices [I, H], [I, H], [H, I]
	SharedGate       Weight // [J, H]
	SharedUp         Weight // [J, H]
	SharedDown       Weight // [H, J]
	SharedExpertGate Weight // [1, H]

	TopK   int
	Renorm bool
}

// MoEScratch is the room a RunMoE needs: Logits [R, E], IDs I32 and Weights [R, TopK], SharedGate and SharedUp [R, J],
// Shared [R, H], Share [R, 1].
type MoEScratch struct {
	Logits, IDs, Weights, SharedGate, SharedUp, Shared, Share Mat
}

// FusedMoE is the capability behind RunMoE.
type FusedMoE interface {
	RunMoE(x, c, y, u Mat, m *MoE, s MoEScratch)
}

// RunMoE sets y [R, H] to the experts' answer to u [R, H] and adds it to the streams: x [R, W] gets c [R, S] * y.
func RunMoE(st Stream, x, c, y, u Mat, m *MoE, s MoEScratch) {
	if f, ok := st.(FusedMoE); ok {
		f.RunMoE(x, c, y, u, m, s)
		return
	}
	ComposeMoE(st, x, c, y, u, m, s)
}

// ComposeMoE is the default composition of RunMoE.
func ComposeMoE(st Stream, x, c, y, u Mat, m *MoE, s MoEScratch) {
	st.Linear(s.Logits, u, m.Router)
	st.Route(s.IDs, s.Weights, s.Logits, m.Renorm)
	st.Experts(y, u, s.IDs, s.Weights, m.Gate, m.Up, m.Down)
	st.Linear(s.SharedGate, u, m.SharedGate)
	st.Linear(s.SharedUp, u, m.SharedUp)
	st.SiluMul(s.SharedGate, s.SharedGate, s.SharedUp)
	st.Linear(s.Shared, s.SharedGate, m.SharedDown)
	st.Linear(s.Share, u, m.SharedExpertGate)
	st.AddGated(y, s.Share, s.Shared)
	st.Inject(x, c, y)
}

// LinearTo is one product of Linears.
type LinearTo struct {
	Dst Mat
	W   Weight
}

// FusedLinears is the capability behind Linears.
type FusedLinears interface {
	Linears(x Mat, to []LinearTo)
}

// Linears runs several products of the same rows: Dst [R, N] = x [R, K] W^T each.
func Linears(st Stream, x Mat, to []LinearTo) {
	if f, ok := st.(FusedLinears); ok {
		f.Linears(x, to)
		return
	}
	for _, t := range to {
		st.Linear(t.Dst, x, t.W)
	}
}

// FusedLinearInject is the capability behind LinearInject.
type FusedLinearInject interface {
	LinearInject(x, c, y, in Mat, w Weight)
}

// LinearInject sets y [R, H] = in [R, K] W^T and adds it to the streams: x [R, W] gets c [R, S] * y.
func LinearInject(st Stream, x, c, y, in Mat, w Weight) {
	if f, ok := st.(FusedLinearInject); ok {
		f.LinearInject(x, c, y, in, w)
		return
	}
	st.Linear(y, in, w)
	st.Inject(x, c, y)
}
