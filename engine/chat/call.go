package chat

import "strings"

// call is the tool call being read.
type call struct {
	count  int // calls begun, this one included
	schema *ToolSchema
	params int    // parameters begun
	types  Types  // of the current one
	first  bool   // nothing of its value was read yet: one line end is framing
	raw    []byte // its text, where the value can only be made at its end
	last   byte   // the last byte of its text so far
}

// The tags inside a call are spelled with ordinary tokens.
const (
	openFunction  = "<function="
	closeFunction = "</function>"
	openParam     = "<parameter="
	closeParam    = "</parameter>"
	maxName       = 256 // bytes of a function's or parameter's name
	maxSpace      = 64  // bytes of white space between tags
)

// match is the outcome of holding a buffer against a grammar.
type match uint8

const (
	mismatch match = iota
	partly
	full
)

// cursor walks over a buffer; once it does not match it stays so.
type cursor struct {
	s   string
	at  int
	res match
}

func newCursor(s string) *cursor { return &cursor{s: s, res: full} }

func (c *cursor) rest() string { return c.s[c.at:] }

// lit matches a fixed text.
func (c *cursor) lit(text string) *cursor {
	switch {
	case c.res != full:
	case strings.HasPrefix(c.rest(), text):
		c.at += len(text)
	case strings.HasPrefix(text, c.rest()):
		c.res = partly
	default:
		c.res = mismatch
	}
	return c
}

// space matches white space, which may be absent.
func (c *cursor) space() *cursor {
	if c.res == full {
		n := len(c.rest()) - len(strings.TrimLeft(c.rest(), blanks))
		if n > maxSpace {
			c.res = mismatch
		}
		c.at += n
	}
	return c
}

// name matches a name and the '>' behind it.
func (c *cursor) name(into *string) *cursor {
	if c.res != full {
		return c
	}
	s := c.rest()
	s = s[:min(len(s), maxName+1)]
	n := strings.IndexAny(s, "<>\n\"")
	if m := firstMark(s); m >= 0 && (n < 0 || m < n) {
		n = m
	}
	switch {
	case n < 0 && len(s) <= maxName:
		c.res = partly
	case n <= 0 || n > maxName || s[n] != '>':
		c.res = mismatch
	default:
		*into = strings.TrimSpace(s[:n])
		c.at += n + 1
		if *into == "" {
			c.res = mismatch
		}
	}
	return c
}

// either tries alternatives from the same place and takes the first that matches; if none does but one may, the cursor waits.
func (c *cursor) either(tries ...func(*cursor)) *cursor {
	if c.res != full {
		return c
	}
	from, waits := c.at, false
	for _, try := range tries {
		c.at, c.res = from, full
		try(c)
		if c.res == full {
			return c
		}
		waits = waits || c.res == partly
	}
	c.at, c.res = from, mismatch
	if waits {
		c.res = partly
	}
	return c
}

// next is what stands behind a parameter or a function's name: another parameter (its name is put into param), or the end of the
// call (param stays "").
func next(c *cursor, param *string) *cursor {
	end := string([]byte{markCloseCall})
	return c.space().either(
		func(c *cursor) { c.lit(openParam).name(param) },
		func(c *cursor) { c.lit(closeFunction).space().lit(end) },
		func(c *cursor) { c.lit(end) }, // </function> forgotten
	)
}

// head reads <tool_call> <function=NAME> up to the first parameter or the end of the call. What does not fit is no call: the tag
// becomes content, and what follows is read as content.
func (p *Parser) head() bool {
	var name, param string
	c := newCursor(p.buf).lit(string([]byte{markOpenCall})).space().lit(openFunction).name(&name)
	named := c.res == full
	next(c, &param)
	switch c.res {
	case mismatch:
		p.state = inContent
		return p.literal()
	case partly:
		if p.final {
			if named { // cut: let it be seen which call it was
				p.begin(name)
				if strings.TrimRight(p.buf[c.at:], blanks) == closeFunction { // all but the last tag is there
					p.finish()
				}
			}
			p.buf = ""
		}
		return false
	}
	p.shift(c.at)
	p.begin(name)
	if param == "" {
		p.finish()
	} else {
		p.param(param)
	}
	return true
}

// begin gives out the start of a call. What was held of the content before it can no longer be a stop string, and white space in
// front of a call is framing.
func (p *Parser) begin(name string) {
	p.say(p.stops.release())
	p.space = nil
	p.call = call{count: p.call.count + 1, schema: p.schema(name)}
	p.give(Delta{Kind: ToolStart, Tool: p.call.count - 1, Name: name})
}

// args gives out a piece of the arguments.
func (p *Parser) args(s string) { p.give(Delta{Kind: ToolArgs, Text: s, Tool: p.call.count - 1}) }

// param begins a parameter's value. A text is given out as it comes, anything else when it is whole.
func (p *Parser) param(name string) {
	p.state = inValue
	open := "{"
	if p.call.params > 0 {
		open = ", "
	}
	p.call.params++
	p.call.first, p.call.raw, p.call.last, p.call.types = true, nil, 0, 0
	if p.call.schema != nil {
		p.call.types = p.call.schema.Params[name]
	}
	open += quote(name) + ": "
	if p.call.types == String {
		open += `"`
	}
	p.args(open)
}

// close ends a parameter's value.
func (p *Parser) close() {
	if p.call.types == String {
		p.args(`"`)
		return
	}
	p.args(p.call.types.value(string(p.call.raw)))
	p.call.raw = nil
}

// finish ends the call.
func (p *Parser) finish() {
	if p.call.params == 0 {
		p.args("{")
	}
	p.args("}")
	p.give(Delta{Kind: ToolEnd, Tool: p.call.count - 1})
	p.state, p.after, p.code = inContent, true, code{}
}

// add takes text of the current value.
func (p *Parser) add(s string) {
	s = spellAll(s)
	if s != "" {
		p.call.last = s[len(s)-1]
	}
	if p.call.types == String {
		p.args(escape(s))
		return
	}
	p.call.raw = append(p.call.raw, s...)
	if p.call.types == String|Null {
		// An optional text: as soon as it cannot be null any more it is given out as it comes.
		bare := strings.TrimSpace(string(p.call.raw))
		if !strings.HasPrefix("null", bare) && !strings.HasPrefix("None", bare) {
			p.call.types = String
			p.args(`"` + escape(string(p.call.raw)))
			p.call.raw = nil
		}
	}
}

// value reads a parameter's value up to its end: </parameter> with another parameter or the end of the call behind it. Anything less
// is text that looks like a tag. The value's last line end belongs to the tag.
func (p *Parser) value() bool {
	if p.call.first {
		p.call.first = false
		if p.buf[0] == '\n' {
			p.shift(1)
			return true
		}
	}
	for i := range len(p.buf) {
		if b := p.buf[i]; b != '\n' && b != '<' && !isMark(b) {
			continue
		}
		if quoted, known := p.quotedInValue(i); !known {
			p.add(p.shift(i))
			return false
		} else if quoted {
			continue
		}
		var param string
		c := newCursor(p.buf[i:])
		p.valueEnd(c, &param)
		switch c.res {
		case mismatch:
			continue
		case partly:
			p.add(p.shift(i))
			if p.final {
				p.cut()
			}
			return false
		}
		p.add(p.shift(i))
		p.shift(c.at)
		p.close()
		if param == "" {
			p.finish()
		} else {
			p.param(param)
		}
		return true
	}
	p.add(p.shift(len(p.buf)))
	return true
}

// quotedInValue tells whether what is at i is the bare end of the call between two equal quotation marks, which is text: a
// document about tool calls. Not known before the character behind it is.
func (p *Parser) quotedInValue(i int) (yes, known bool) {
	if p.buf[i] != markCloseCall {
		return false, true
	}
	before := p.call.last
	if i > 0 {
		before = p.buf[i-1]
	}
	switch {
	case before != '"' && before != '\'' && before != '`':
		return false, true
	case i+1 == len(p.buf):
		return false, p.final
	}
	return p.buf[i+1] == before, true
}

// valueEnd matches the end of a value. Where tags are tokens, the end of the call ends it whatever is missing before it.
func (p *Parser) valueEnd(c *cursor, param *string) {
	end := string([]byte{markCloseCall})
	if strings.HasPrefix(c.rest(), "\n") {
		c.at++
	}
	tries := []func(*cursor){
		func(c *cursor) { next(c.lit(closeParam), param) },
		func(c *cursor) { c.lit(closeFunction).space().lit(end) }, // </parameter> forgotten
	}
	if p.tokens {
		tries = append(tries, func(c *cursor) { c.lit(end) })
	}
	c.either(tries...)
}

// cut is the end of the answer where the end of a value was under way. If all but the last tag is there the call is whole; if only the
// parameter's is, the parameter is. A part of a tag is dropped.
func (p *Parser) cut() {
	rest := strings.TrimRight(p.shift(len(p.buf)), blanks)
	inner, ended := strings.CutSuffix(rest, closeFunction)
	if !ended {
		inner = rest
	}
	if strings.HasSuffix(strings.TrimRight(inner, blanks), closeParam) {
		p.close()
		if ended {
			p.finish()
		}
	}
}
