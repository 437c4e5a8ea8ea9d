package cpu

import "github.com/flashlane/flashlane/metal"

// KeepTail sets Next to the last rows of [Tail | the first Keep rows of src] for each span, spec 4. Nothing is computed.
func (s *stream) KeepTail(src metal.Mat, spans []metal.TailSpan) {
	m := matOf(src)
	for k := range spans {
		sp := &spans[k]
		if sp.Tail.N == 0 && sp.Next.N == 0 {
			continue
		}
		if sp.Keep < 0 || sp.Keep > sp.N || sp.Keep > 0 && (sp.Row < 0 || sp.Row+sp.Keep > m.rows) || sp.Tail.N != sp.Next.N ||
			sp.Tail.N%m.cols != 0 {
			want(false, "KeepTail", "span %d: keep %d of %d at row %d of [%d %d], tail %d, next %d", k, sp.Keep, sp.N, sp.Row, m.rows, m.cols, sp.Tail.N, sp.Next.N)
		}
		tail, next := vecOf(sp.Tail), vecOf(sp.Next)
		rows := len(tail) / m.cols
		old := max(rows-sp.Keep, 0) // rows that stay
		copy(next, tail[len(tail)-old*m.cols:])
		for i := old; i < rows; i++ {
			copy(next[i*m.cols:(i+1)*m.cols], m.row(sp.Row+sp.Keep-rows+i))
		}
	}
}
