package jinja

// expr is an expression; eval gives its value in a scope.
type expr interface {
	eval(r *run, s *scope) (Value, error)
}

// stmt is a piece of a template; exec writes its output.
type stmt interface {
	exec(r *run, s *scope, out *output) (signal, error)
}

// signal tells a loop that its body ended early.
type signal uint8

const (
	goOn signal = iota
	signalBreak
	signalContinue
)

// Expressions.
type (
	constant struct{ v Value }
	name     struct{ id string }
	listLit  struct{ items []expr }
	tupleLit struct{ items []expr }
	dictLit  struct {
		line       int
		keys, vals []expr
	}
	attr struct { // x.name
		line int
		of   expr
		name string
	}
	item struct { // x[key]
		line    int
		of, key expr
	}
	slice struct { // x[from:to:step], parts nil if absent
		line           int
		of             expr
		from, to, step expr
	}
	call struct {
		line int
		fn   expr
		args callArgs
	}
	filter struct {
		line int
		name string
		fn   filterFunc
		of   expr // nil inside a block whose text is filtered
		args callArgs
	}
	test struct {
		line   int
		name   string
		fn     testFunc
		of     expr
		args   callArgs
		negate bool
	}
	unary struct {
		line int
		op   string // "-", "+", "not"
		x    expr
	}
	binary struct {
		line int
		op   string // + - * / // % ** ~
		x, y expr
	}
	logic struct { // and, or: give one of their operands
		and  bool
		x, y expr
	}
	compare struct { // a < b < c
		line int
		x    expr
		ops  []string
		ys   []expr

		closed bool // in brackets: what follows does not chain
	}
	choice struct{ cond, yes, no expr } // yes if cond else no; no may be nil
)

// callArgs are the arguments of a call as written.
type callArgs struct {
	pos   []expr
	names []string
	named []expr
}

// Statements.
type (
	data  struct{ text string }
	print struct {
		line int
		x    expr
	}
	block  []stmt
	ifStmt struct {
		line  int
		conds []expr
		then  []block
		other block
	}
	forStmt struct {
		line      int
		target    target
		in        expr
		cond      expr // nil if every item is taken
		body      block
		other     block
		recursive bool
	}
	setStmt struct {
		line   int
		target target
		x      expr
	}
	setBlock struct {
		line    int
		target  target
		filters []*filter
		body    block
	}
	macroStmt struct {
		line     int
		name     string
		params   []string
		defaults []expr // as many as params, nil without one
		body     block
		catches  bool // the body uses varargs
		kwargs   bool // the body uses kwargs
	}
	withStmt struct {
		line  int
		names []target
		vals  []expr
		body  block
	}
	filterStmt struct {
		line    int
		filters []*filter
		body    block
	}
	scoped struct{ body block } // generation: marks nothing here, but has a scope of its own
	jump   struct{ to signal }
)

// target is what a for or set assigns to: one name, an attribute of a namespace, or several targets to unpack to.
type target struct {
	name   string
	attr   string // of the namespace called name
	unpack []target
}
