package chat

import "strings"

// code follows Markdown as far as it tells whether the next character stands in code: a fence, or an open ` on the line.
type code struct {
	line   []byte // the current line, as much of it as matters
	ticks  int    // backticks on the current line
	fence  byte   // '`' or '~' inside a fenced block, else 0
	length int    // of the fence that opened it
	last   byte   // the last byte fed, 0 at the start
}

// maxLine is how much of a line is kept to find fences.
const maxLine = 256

// feed follows more text.
func (c *code) feed(text string) {
	for i := range len(text) {
		b := text[i]
		c.last = b
		if b == '\n' {
			c.endLine()
			continue
		}
		if b == '`' {
			c.ticks++
		}
		if len(c.line) < maxLine {
			c.line = append(c.line, b)
		}
	}
}

func (c *code) endLine() {
	line := strings.TrimSpace(string(c.line))
	c.line, c.ticks = c.line[:0], 0
	if line == "" || line[0] != '`' && line[0] != '~' {
		return
	}
	n := len(line) - len(strings.TrimLeft(line, line[:1]))
	rest := line[n:]
	switch {
	case n < 3:
	case c.fence == 0 && !(line[0] == '`' && strings.Contains(rest, "`")):
		c.fence, c.length = line[0], n
	case c.fence == line[0] && n >= c.length && rest == "":
		c.fence = 0
	}
}

// inside tells whether the next character is code.
func (c *code) inside() bool { return c.fence != 0 || c.ticks%2 == 1 }

// fresh tells whether the current line is blank so far.
func (c *code) fresh() bool { return strings.TrimSpace(string(c.line)) == "" }

// quoting is the quotation mark that the next character follows at once, 0 if none.
func (c *code) quoting() byte {
	switch c.last {
	case '"', '\'', '`':
		return c.last
	}
	return 0
}
