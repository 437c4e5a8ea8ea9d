// Package convert gives the numbers of a pack that is there to package mlx, which writes them in another recipe:
//
//	source, err := convert.From(p)                               // an opened pack: HF checkpoint, or MLX layout
//	plan, err := mlx.NewPlan(&p.Config, source, mlx.Options{Recipe: r, Head: source.Head()})
//
// A weight is read by runs of rows, never whole. Floats are cast to bf16 and quantised. Codes are only ever copied as they
// are: a module of the source that has codes already must want the very same format, or it is refused (ErrInexact), for
// codes of codes would add one error to the other.
package convert
