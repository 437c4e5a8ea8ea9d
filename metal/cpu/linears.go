package cpu

import "github.com/flashlane/flashlane/metal"

// linearsCall is the Linears or LinearInject in progress.
type linearsCall struct {
	call
	fn      func(worker, stage, lo, hi int)
	x       mat
	all     []target
	streams mat // LinearInject: the streams, empty for Linears
	gains   mat
}

var (
	_ metal.FusedLinears      = (*stream)(nil)
	_ metal.FusedLinearInject = (*stream)(nil)
)

// Linears runs several products of the same rows in one fork-join.
func (s *stream) Linears(x metal.Mat, to []metal.LinearTo) {
	c := &s.lins
	c.all = c.all[:0]
	for _, t := range to {
		w := t.W.(*weight)
		checkLinear("Linears", t.Dst, x, w)
		c.all = append(c.all, target{w, matOf(t.Dst)})
	}
	c.x, c.streams, c.gains = matOf(x), mat{}, mat{}
	s.runLinears()
}

// LinearInject adds a product to the streams as its columns are made.
func (s *stream) LinearInject(x, cs, y, in metal.Mat, wt metal.Weight) {
	w := wt.(*weight)
	checkLinear("LinearInject", y, in, w)
	checkInject("LinearInject", x, cs, y)
	c := &s.lins
	c.all = append(c.all[:0], target{w, matOf(y)})
	c.x, c.streams, c.gains = matOf(in), matOf(x), matOf(cs)
	s.runLinears()
}

func (s *stream) runLinears() {
	c := &s.lins
	if c.x.rows == 0 || len(c.all) == 0 {
		return
	}
	c.call = s.begin(c.x.rows)
	if c.tall {
		s.workers.runStages([]stage{c.perChunk()}, c.fn)
	} else {
		s.workers.runStages([]stage{{n: tilesOf(c.all), grain: max(1, pieceWork/(c.x.cols*tileN*c.rows))}}, c.fn)
	}
	clear(c.all)
	c.x, c.streams, c.gains = mat{}, mat{}, mat{}
}

func (s *stream) linearsUnits(worker, stage, lo, hi int) {
	c := &s.lins
	d, ks := &s.desk[worker], s.dev.kernels
	if c.tall {
		for range hi - lo {
			from, rows := c.rowsOf(c.next(worker, stage))
			c.run(d, ks, 0, tilesOf(c.all), from, rows)
		}
		return
	}
	c.run(d, ks, lo, hi, 0, c.rows)
}

func (c *linearsCall) run(d *desk, ks *kernelSet, lo, hi, from, rows int) {
	d.products(ks, c.all, lo, hi, c.x, from, rows, c.turn<<3)
	if c.streams.rows > 0 {
		col, n := columnsOf(lo, hi, c.all[0].dst.cols)
		inject(ks, c.streams, c.gains, c.all[0].dst, from, rows, col, n)
	}
}
