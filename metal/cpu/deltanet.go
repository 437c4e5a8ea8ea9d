package cpu

import "github.com/flashlane/flashlane/metal"

var _ metal.FusedDeltaNet = (*stream)(nil)

// deltaNetCall is the RunDeltaNet in progress.
type deltaNetCall struct {
	call
	fn func(worker, stage, lo, hi int)

	n                      *metal.DeltaNet
	x, c, y, u             mat
	pre, post, beta, decay mat
	z, o, b, a             mat
	out                    *weight
	first                  []target // products of u
	conv                   []metal.ConvSpan
	delta                  []metal.DeltaSpan
	taps, rate, bias, norm []float32
}

// The stages of a RunDeltaNet.
const (
	netFirst = iota // the products of u
	netConv         // tall: convolution and step sizes
	netHeads        // the delta rule by sequence and key head; narrow: also convolution, step sizes and gated norm
	netOut          // the output product, added to the streams as its columns are made; tall: also the gated norm
	netStages
)

// RunDeltaNet is a gated delta net in one fork-join.
func (s *stream) RunDeltaNet(x, cm, y, u metal.Mat, n *metal.DeltaNet, rows metal.DeltaNetRows, sc metal.DeltaNetScratch,
	conv []metal.ConvSpan, delta []metal.DeltaSpan) {
	c, sh := &s.net, n.Shape
	out, to := n.Out.(*weight), [4]metal.LinearTo{{Dst: rows.Pre, W: n.QKV}, {Dst: sc.Z, W: n.Z}, {Dst: sc.B, W: n.B}, {Dst: sc.A, W: n.A}}
	c.first = c.first[:0]
	for _, t := range to {
		checkLinear("RunDeltaNet", t.Dst, u, t.W.(*weight))
		c.first = append(c.first, target{t.W.(*weight), matOf(t.Dst)})
	}
	checkLinear("RunDeltaNet", y, sc.O, out)
	checkInject("RunDeltaNet", x, cm, y)
	c.check(rows, sc, n, conv, delta)
	if u.Rows == 0 {
		for i := range delta {
			s.Copy(delta[i].Next, delta[i].State)
		}
		return
	}
	c.call = s.begin(u.Rows)
	c.n, c.out, c.conv, c.delta = n, out, conv, delta
	c.x, c.c, c.y, c.u = matOf(x), matOf(cm), matOf(y), matOf(u)
	c.pre, c.post, c.beta, c.decay = matOf(rows.Pre), matOf(rows.Post), matOf(rows.Beta), matOf(rows.Decay)
	c.z, c.o, c.b, c.a = matOf(sc.Z), matOf(sc.O), matOf(sc.B), matOf(sc.A)
	c.taps, c.rate, c.bias, c.norm = vecOf(n.Conv), vecOf(n.Rate), vecOf(n.Bias), vecOf(n.Norm)
	stages := [netStages]stage{
		netFirst: {n: tilesOf(c.first), grain: max(1, pieceWork/(u.Cols*tileN*c.rows))},
		netHeads: {n: len(delta) * sh.KeyHeads, grain: 1},
		netOut:   {n: out.tiles, grain: max(1, pieceWork/(out.cols*tileN*c.rows))},
	}
	if c.tall {
		stages[netFirst], stages[netConv], stages[netOut] = c.perChunk(), c.perChunk(), c.perChunk()
	}
	s.workers.runStages(stages[:], c.fn)
	clear(c.first)
	*c = deltaNetCall{fn: c.fn, first: c.first[:0]}
}

// check panics unless rows, scratch and spans have the shapes of the block.
func (c *deltaNetCall) check(rows metal.DeltaNetRows, sc metal.DeltaNetScratch, n *metal.DeltaNet, conv []metal.ConvSpan, delta []metal.DeltaSpan) {
	sh := n.Shape
	channels, values := 2*sh.KeyHeads*sh.KeyDim+sh.ValueHeads*sh.ValueDim, sh.ValueHeads*sh.ValueDim
	r := rows.Pre.Rows
	for _, m := range [...]struct {
		m    metal.Mat
		cols int
	}{{rows.Pre, channels}, {rows.Post, channels}, {rows.Beta, sh.ValueHeads}, {rows.Decay, sh.ValueHeads}, {sc.Z, values}, {sc.O, values},
		{sc.B, sh.ValueHeads}, {sc.A, sh.ValueHeads}} {
		if m.m.Rows != r || m.m.Cols != m.cols {
			want(false, "RunDeltaNet", "got [%d %d], want [%d %d], shape %+v", m.m.Rows, m.m.Cols, r, m.cols, sh)
		}
	}
	if n.Taps < 1 || n.Conv.N != n.Taps*channels || n.Rate.N != sh.ValueHeads || n.Bias.N != sh.ValueHeads || n.Norm.N != sh.ValueDim ||
		sh.ValueHeads%sh.KeyHeads != 0 || len(conv) != len(delta) {
		want(false, "RunDeltaNet", "conv [%d], rate [%d], bias [%d], norm [%d], shape %+v, %d and %d spans", n.Conv.N, n.Rate.N, n.Bias.N, n.Norm.N,
			sh, len(conv), len(delta))
	}
	state, next := sh.ValueHeads*sh.KeyDim*sh.ValueDim, 0
	for i := range conv {
		if conv[i].Span != delta[i].Span || conv[i].N < 0 || conv[i].Row != next || conv[i].Tail.N != (n.Taps-1)*channels || delta[i].State.N != state ||
			delta[i].Next.N != state {
			want(false, "RunDeltaNet", "span %d: %+v and %+v, want row %d, tail %d, state %d", i, conv[i], delta[i], next, (n.Taps-1)*channels, state)
		}
		next += conv[i].N
	}
	if next != r {
		want(false, "RunDeltaNet", "spans of %d rows, want %d", next, r)
	}
}

func (s *stream) deltaNetUnits(worker, stage, lo, hi int) {
	c := &s.net
	d, ks := &s.desk[worker], s.dev.kernels
	if stage == netHeads {
		sh := c.n.Shape
		group := sh.ValueHeads / sh.KeyHeads
		for u := lo; u < hi; u++ {
			if c.tall {
				deltaUnits(ks.simd(), c.o, c.post, c.beta, c.decay, sh, c.delta, u*group, (u+1)*group)
			} else {
				c.head(ks, u/sh.KeyHeads, u%sh.KeyHeads)
			}
		}
		return
	}
	if !c.tall {
		c.linear(d, ks, stage, lo, hi, 0, c.rows)
		return
	}
	for range hi - lo {
		from, rows := c.rowsOf(c.next(worker, stage))
		switch stage {
		case netFirst:
			c.linear(d, ks, stage, 0, tilesOf(c.first), from, rows)
		case netConv:
			convRows(ks, c.post, c.pre, c.taps, c.n.Taps, 1, c.conv, from, from+rows)
			decayRows(ks.simd(), c.beta, c.decay, c.b, c.a, c.rate, c.bias, from, from+rows)
		default:
			gatedRows(ks, c.o, c.o, c.z, c.norm, c.n.Eps, c.n.Act, from, from+rows)
			c.linear(d, ks, stage, 0, c.out.tiles, from, rows)
		}
	}
}

// linear does tiles lo..hi-1 of the first products or the last.
func (c *deltaNetCall) linear(d *desk, ks *kernelSet, stage, lo, hi, from, rows int) {
	if stage == netFirst {
		d.products(ks, c.first, lo, hi, c.u, from, rows, c.turn<<3)
		return
	}
	d.product(ks, c.out, lo, hi-lo, c.y, from, rows, d.input(ks, c.out, c.o.span(from), rows, c.turn<<3|netOut))
	col, n := columnsOf(lo, hi, c.y.cols)
	inject(ks, c.x, c.c, c.y, from, rows, col, n)
}

// head takes a sequence's rows through one key head and the value heads that share it.
func (c *deltaNetCall) head(ks *kernelSet, span, kh int) {
	sh, sp := c.n.Shape, &c.conv[span]
	group, v := sh.ValueHeads/sh.KeyHeads, ks.simd()
	keys := sh.KeyHeads * sh.KeyDim
	first := kh * group // of the value heads
	for _, r := range [3][2]int{{kh * sh.KeyDim, sh.KeyDim}, {keys + kh*sh.KeyDim, sh.KeyDim}, {2*keys + first*sh.ValueDim, group * sh.ValueDim}} {
		convSpan(ks, c.post, c.pre, c.taps, c.n.Taps, 1, sp, 0, sp.N, r[0], r[1])
	}
	for i := range sp.N {
		r := sp.Row + i
		decayHeads(v, c.beta.row(r)[first:][:group], c.decay.row(r)[first:][:group], c.b.row(r)[first:][:group], c.a.row(r)[first:][:group],
			c.rate[first:][:group], c.bias[first:][:group])
	}
	deltaUnits(v, c.o, c.post, c.beta, c.decay, sh, c.delta, span*sh.ValueHeads+first, span*sh.ValueHeads+first+group)
	for i := range sp.N {
		y, z := c.o.row(sp.Row + i)[first*sh.ValueDim:][:group*sh.ValueDim], c.z.row(sp.Row + i)[first*sh.ValueDim:][:group*sh.ValueDim]
		gatedHeads(ks, y, y, z, c.norm, c.n.Eps, c.n.Act)
	}
}
