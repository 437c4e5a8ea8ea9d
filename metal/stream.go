package metal

// Span is a run of consecutive rows of one sequence inside a pass: rows Row..Row+N-1 sit at absolute
// positions Pos..Pos+N-1.
type Span struct {
	Row int
	N   int
	Pos int
}

// Activation is a gate's non-linearity.
type Activation uint8

// The activations of the family.
const (
	Sigmoid Activation = iota
	Silu
)

// Stream is an op queue of a device. Every op is row-exact (see the package comment). No argument may alias
// another unless the op says so. All matrices are F32 unless marked I32.
type Stream interface {
	// Write copies host values to the device.
	Write(dst Vec, src []float32)
	// Read waits for queued work and copies len(dst) values to the host.
	Read(dst []float32, src Vec) error
	// ReadInts is Read for I32 memory.
	ReadInts(dst []int32, src Vec) error
	// Copy copies src.N elements on the device; overlapping ranges of one buffer are not allowed.
	Copy(dst, src Vec)
	// CopyRows copies src's rows to dst's rows (same Rows and Cols, any strides).
	CopyRows(dst, src Mat)
	// Zero clears dst.
	Zero(dst Vec)
	// Sync waits for all queued work and returns its first error.
	Sync() error

	// Embed sets each row of dst [R, copies*H] to `copies` copies of row ids[r] of table [V, H] (spec 2.1).
	Embed(dst Mat, table Weight, ids []int32, copies int)

	// Norm is the RMS norm of `groups` equal groups of each row, each with its own mean square, times w [Cols]
	// (already 1+w where the norm is zero-centred): y = (x * 1/sqrt(mean(x^2)+eps)) * w (spec 2.0).
	// dst may be src.
	Norm(dst, src Mat, w Vec, groups int, eps float32)

	// Linear sets dst [R, N] = x [R, K] W^T. For every output element the sum over K has one fixed order.
	Linear(dst, x Mat, w Weight)

	// SiluScale sets x = silu(x*scale) in place.
	SiluScale(x Mat, scale float32)

	// MixStreams sets u [R, H] = (1/S) * sum_s sigmoid(mix[s]) * normed[s], mix and normed [R, S*H] (spec 2.2).
	MixStreams(u, mix, normed Mat, streams int)

	// Gain sets c = 2*sigmoid(c*scale) in place, c [R, S] (spec 2.2).
	Gain(c Mat, scale float32)

	// Inject adds c[s]*y to stream s of x: x [R, S*H], c [R, S], y [R, H] (spec 2.2).
	Inject(x, c, y Mat)

	// AddStreams adds y [R, H] to every one of the S streams of x [R, S*H] (spec 3.1).
	AddStreams(x, y Mat)

	// AddBoth adds a and b to x: x += a + b (the sum a+b first), all [R, C] (spec 2.7.3).
	AddBoth(x, a, b Mat)

	// Conv is a depthwise causal convolution followed by silu (spec 2.4, 2.7.3):
	// dst[t,ch] = silu( sum_j w[j*C+ch] * src[t - dilation*(taps-1-j), ch] ), j ascending, w [taps, C].
	// Rows before the span come from its Tail [(taps-1)*dilation, C], oldest first. Tails are not changed.
	Conv(dst, src Mat, w Vec, taps, dilation int, spans []ConvSpan)

	// KeepTail sets Next to the last rows of [Tail | the span's first Keep rows of src] for each span
	// (Next has as many rows as Tail and must not alias it). With it a rejected draft leaves no trace.
	KeepTail(src Mat, spans []TailSpan)

	// Decay sets beta = sigmoid(b) and decay = exp( rate * softplus(a + bias) ), rate = -exp(A_log);
	// all [R, heads], rate and bias [heads] (spec 2.4; softplus(x) = x for x > 20).
	Decay(beta, decay, b, a Mat, rate, bias Vec)

	// Delta runs the gated delta rule over the rows of each span (spec 2.4): qkv [R, 2*KeyHeads*KeyDim +
	// ValueHeads*ValueDim] is the convolution's output [q|k|v]; q and k are l2-normed here (eps 1e-6 on the sum),
	// q scaled by KeyDim^-0.5. o [R, ValueHeads*ValueDim]. State in is span.State, state out is span.Next
	// (may be the same memory), both [ValueHeads, KeyDim, ValueDim]. If o has zero Rows only the state is advanced,
	// with the same bits.
	Delta(o, qkv, beta, decay Mat, shape DeltaShape, spans []DeltaSpan)

	// GatedNorm is the GDN output norm: per head of len(w) columns y = (o * rsqrt(mean(o^2)+eps) * w) * act(z).
	// dst may be o.
	GatedNorm(dst, o, z Mat, w Vec, eps float32, act Activation)

	// NormRope takes head h of each row of src at columns h*step .. h*step+dim-1, applies the RMS norm with w [dim] and
	// rotates the first 2*half columns (pairs i, i+half) by the row's angles: cs [R, 2*half] = cos | sin (already scaled).
	// dst [R, heads*dim] (spec 2.5). dst may not alias src.
	NormRope(dst, src Mat, w Vec, heads, dim, step int, eps float32, cs Mat)

	// Pool writes pooled index keys (spec 2.5): for each span, block Block+i, i < N, becomes row i of Dst:
	// rope(norm(mean of the Ratio raw keys Raw[(Block+i)*Ratio ..]), cs row i). Raw [positions, dim], Dst [N, dim].
	Pool(w Vec, dim, ratio int, eps float32, spans []PoolSpan)

	// Select chooses blocks for every row of every span (spec 2.5): for a row at position t, n = t+1, nb = n/ratio,
	// all blocks if nb <= top, else the `top` blocks with the largest score sum_h relu(<qI_h, kbar_b>), ties to the lowest
	// block. sel is I32 [R, top]: chosen ids ascending; only the first min(top, nb) entries are written.
	// qi [R, heads*dim]. Block b < span.Blocks is row b of Bank, else row b-Blocks of Scratch.
	Select(sel, qi Mat, heads, dim, ratio, top int, spans []SelectSpan)

	// Attend is gated grouped-query attention (spec 2.5): row at position t attends, in ascending order, to the tokens of
	// its selected blocks and the tail ratio*nb..t; with nb <= top to all of 0..t. out = softmax(q.k * dim^-0.5) v *
	// sigmoid(gate). q [R, heads*dim]; gate is the q_proj output [R, heads*2*dim], gate of head h at h*2*dim+dim;
	// keys and values in the span's K, V [positions, kvHeads*dim]. A row sees the keys of its own span's earlier rows:
	// they were appended before.
	Attend(dst, q, gate, sel Mat, shape AttendShape, spans []AttendSpan)

	// Route picks the top `k` of softmax(logits [R, E]), ties to the lowest id; ids I32 [R, k] ascending by id, w [R, k]
	// their probabilities, divided by their sum if renorm (spec 2.6).
	Route(ids, w, logits Mat, renorm bool)

	// Experts sets y [R, H] = sum over the row's experts, ascending id, of w_e * down_e( silu(gate_e x) * up_e x ).
	// gate, up [E][I, H], down [E][H, I] (spec 2.6).
	Experts(y, x, ids, w Mat, gate, up, down Weight)

	// SiluMul sets dst = silu(g) * u. dst may be g or u.
	SiluMul(dst, g, u Mat)

	// AddGated adds sigmoid(s)*v to y: y, v [R, H], s [R, 1] (spec 2.6, shared expert).
	AddGated(y, s, v Mat)

	// Gate is the PLE gate (spec 2.7.3): per stream a = <k_s, q_s>/sqrt(H), a = sign(a)*sqrt(max(|a|,1e-6)),
	// dst_s = sigmoid(a) * v. k, q, dst [R, S*H], v [R, H].
	Gate(dst, k, q, v Mat)

	// ArgMax writes the lowest index of each row's maximum to ids I32 [R, 1].
	ArgMax(ids, x Mat)
}

// ConvSpan is one sequence's part of a Conv.
type ConvSpan struct {
	Span
	Tail Vec // [(taps-1)*dilation, C], oldest first
}

// TailSpan is one sequence's part of a KeepTail: Keep <= N rows are committed.
type TailSpan struct {
	Span
	Keep int
	Tail Vec // [rows, C]
	Next Vec // [rows, C]
}

// DeltaShape is the geometry of a gated delta net layer.
type DeltaShape struct {
	KeyHeads, ValueHeads, KeyDim, ValueDim int
}

// DeltaSpan is one sequence's part of a Delta.
type DeltaSpan struct {
	Span
	State Vec
	Next  Vec
}

// PoolSpan is one run of blocks to pool.
type PoolSpan struct {
	Raw   Vec // raw index keys from position 0, [positions, dim]
	Block int // first block id
	N     int
	Dst   Mat // [N, dim]
	Angle Mat // [N, 2*half]: cos | sin at the block's first position
}

// SelectSpan is one sequence's part of a Select.
type SelectSpan struct {
	Span
	Bank    Vec // committed pooled keys [>= Blocks, dim]
	Blocks  int // number of blocks taken from the bank
	Scratch Vec // pooled keys of blocks Blocks, Blocks+1, ... completed by this pass
}

// AttendShape is the geometry of an attention layer.
type AttendShape struct {
	Heads, KVHeads, Dim int
	Ratio, Top          int // QSA block size in tokens and budget in blocks
}

// AttendSpan is one sequence's part of an Attend.
type AttendSpan struct {
	Span
	K Vec // [positions, KVHeads*Dim]
	V Vec
}
