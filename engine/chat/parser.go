package chat

import (
	"slices"
	"strings"
)

// ParserOptions say how an answer is to be read.
type ParserOptions struct {
	InThink bool         // the prompt ended inside <think>: the answer begins with reasoning
	Plain   bool         // completions: everything is content, tags mean nothing
	Tools   []ToolSchema // for the types of arguments
	Stop    []string     // matched in content only
}

// Parser takes the text of one answer apart while it comes. One goroutine at a time.
//
// There are two ways to feed it. Push takes text alone and finds tags by their spelling. PushToken also says which texts are added
// tokens of the vocabulary; from its first call on, only those are tags, and spelled-out ones are text.
type Parser struct {
	o      ParserOptions
	state  state
	tokens bool   // PushToken was used
	start  string // text that may be the beginning of a tag (Push only)
	buf    string // text and markers that wait for what comes behind them
	final  bool   // nothing comes any more
	out    []Delta
	tail   []byte // text of the last delta in out, while it grows

	code  code   // Markdown state of the current reasoning or content
	space []byte // white space at the end of what was given out so far, held back
	skip  bool   // line ends at the start of reasoning or content are framing

	said    bool // content was given out
	thought bool // reasoning has ended
	after   bool // only white space came since a tool call
	stops   *stopper
	stopped string

	call call
}

type state uint8

const (
	inContent state = iota
	inReasoning
	inHead  // behind <tool_call>
	inValue // behind <parameter=...>
)

// NewParser begins an answer.
func NewParser(o ParserOptions) *Parser {
	p := &Parser{o: o, stops: newStopper(o.Stop)}
	if o.InThink && !o.Plain {
		p.state, p.skip = inReasoning, true
	}
	return p
}

// Push takes text, whole characters of it, and gives what is certain now.
func (p *Parser) Push(text string) []Delta {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if p.o.Plain || p.tokens {
		return p.take(text)
	}
	var marked string
	marked, p.start = markTags(p.start + text)
	return p.take(marked)
}

// PushToken takes the text of one token, as the tokenizer's Stream gives it; added says that the token is an added one of the
// vocabulary (Tokenizer.Added). Text that an unfinished character left in front of a tag is understood.
func (p *Parser) PushToken(text string, added bool) []Delta {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if p.o.Plain {
		return p.take(text)
	}
	before := p.start
	p.tokens, p.start = true, ""
	if added {
		for k, tag := range tagOf {
			if rest, ok := strings.CutSuffix(text, tag); ok && strings.Trim(rest, "\uFFFD") == "" {
				return p.take(before + rest + string([]byte{markOpenThink + byte(k)}))
			}
		}
	}
	return p.take(before + text)
}

// Flush ends the answer and gives what was held back. A tool call that is not complete stays open, and what is not yet certain of it
// is dropped.
func (p *Parser) Flush() []Delta {
	p.final = true
	out := p.take(p.start)
	p.start = ""
	return out
}

// Stopped gives the stop string that ended the answer, if one did. Nothing of it was given out, and nothing comes behind it.
func (p *Parser) Stopped() (string, bool) { return p.stopped, p.stopped != "" }

// Open tells whether the answer stands, or ended, inside a tool call.
func (p *Parser) Open() bool { return p.state == inHead || p.state == inValue }

// Thinking tells whether what comes next is reasoning.
func (p *Parser) Thinking() bool { return p.state == inReasoning }

// take goes on with more marked text.
func (p *Parser) take(marked string) []Delta {
	p.buf += marked
	for p.stopped == "" && p.step() {
	}
	if p.stopped != "" {
		p.buf = ""
	} else if p.final {
		p.end()
	}
	p.seal()
	out := p.out
	p.out = nil
	return out
}

// step does one thing with the buffer; false if there is nothing to do before more comes.
func (p *Parser) step() bool {
	if p.buf == "" {
		return false
	}
	if p.o.Plain {
		p.content(p.shift(len(p.buf)))
		return true
	}
	switch p.state {
	case inHead:
		return p.head()
	case inValue:
		return p.value()
	}
	i := firstMark(p.buf)
	if i != 0 {
		if i < 0 {
			i = len(p.buf)
		}
		p.text(p.shift(i))
		return true
	}
	if p.state == inReasoning {
		return p.markInReasoning()
	}
	return p.markInContent()
}

// shift takes n bytes off the buffer.
func (p *Parser) shift(n int) string {
	s := p.buf[:n]
	p.buf = p.buf[n:]
	return s
}

func (p *Parser) text(s string) {
	if p.state == inReasoning {
		p.reasoning(s)
	} else {
		p.content(s)
	}
}

// literal gives the marker at the front of the buffer back as text.
func (p *Parser) literal() bool {
	p.text(spell(p.shift(1)[0]))
	return true
}

// quoted tells whether the marker at the front of the buffer stands between two equal quotation marks. Not known before the
// character behind it is.
func (p *Parser) quoted() (yes, known bool) {
	q := p.code.quoting()
	if q == 0 {
		return false, true
	}
	if len(p.buf) < 2 {
		return false, p.final
	}
	return p.buf[1] == q, true
}

// markInReasoning: only </think> means something, unless it is quoted. In code it must stand as the template writes it, with a blank
// line behind it (and, in a fence, at the start of a line): a fence that the model forgot to close holds nothing up.
func (p *Parser) markInReasoning() bool {
	if p.buf[0] != markCloseThink {
		return p.literal()
	}
	yes, known := p.quoted()
	if !known {
		return false
	}
	if yes {
		return p.literal()
	}
	if p.code.inside() {
		const blank = "\n\n"
		behind := p.buf[1:]
		if p.code.fence != 0 && !p.code.fresh() {
			return p.literal()
		}
		if len(behind) < len(blank) && strings.HasPrefix(blank, behind) {
			if !p.final {
				return false
			}
		} else if !strings.HasPrefix(behind, blank) {
			return p.literal()
		}
	}
	p.shift(1)
	p.enter(inContent)
	p.thought = true
	return true
}

// enter begins reasoning or content: white space held so far was framing, and so are line ends to come.
func (p *Parser) enter(s state) {
	p.state, p.skip = s, true
	p.stops.release()
	p.space, p.code = nil, code{}
}

// markInContent: <tool_call> begins a call unless it is quoted or in code; <think> begins reasoning, and a stray </think> is dropped,
// only where nothing was said yet.
func (p *Parser) markInContent() bool {
	silent := !p.said && p.call.count == 0 && strings.Trim(string(p.stops.held), blanks) == ""
	switch p.buf[0] {
	case markOpenThink:
		if silent && !p.thought {
			p.shift(1)
			p.enter(inReasoning)
			return true
		}
	case markCloseThink:
		if silent && !p.thought {
			p.shift(1)
			p.enter(inContent)
			p.thought = true
			return true
		}
	case markOpenCall:
		if p.code.inside() {
			break
		}
		yes, known := p.quoted()
		if !known {
			return false
		}
		if !yes {
			p.state = inHead
			return true
		}
	}
	return p.literal()
}

// end gives out what is held at the end of the answer.
func (p *Parser) end() {
	switch p.state {
	case inReasoning:
		p.give(Delta{Kind: Reasoning, Text: string(p.space)})
	case inContent:
		p.say(p.stops.release())
		if !p.after {
			p.give(Delta{Kind: Content, Text: string(p.space)})
		}
	}
	p.space = nil
}

// give adds a delta, to the last one where it goes on.
func (p *Parser) give(d Delta) {
	grows := d.Kind == Reasoning || d.Kind == Content || d.Kind == ToolArgs
	if grows && d.Text == "" {
		return
	}
	n := len(p.out)
	if !grows || n == 0 || p.out[n-1].Kind != d.Kind || p.out[n-1].Tool != d.Tool {
		p.seal()
		p.out = append(p.out, d)
	}
	if grows {
		p.tail = append(p.tail, d.Text...)
	}
}

// seal completes the last delta.
func (p *Parser) seal() {
	if len(p.tail) > 0 {
		p.out[len(p.out)-1].Text = string(p.tail)
		p.tail = p.tail[:0]
	}
}

const blanks = " \t\r\n"

// settle joins text to the white space held back, and holds back what the result ends with.
func (p *Parser) settle(s string) string {
	kept := strings.TrimRight(s, blanks)
	tail := s[len(kept):]
	if kept != "" {
		kept = string(p.space) + kept
		p.space = p.space[:0]
	}
	p.space = append(p.space, tail...)
	return kept
}

// framing drops the line ends that a template puts before reasoning and content.
func (p *Parser) framing(s string) string {
	if p.skip {
		s = strings.TrimLeft(s, "\n")
		p.skip = s == ""
	}
	return s
}

func (p *Parser) reasoning(s string) {
	s = p.framing(s)
	p.code.feed(s)
	p.give(Delta{Kind: Reasoning, Text: p.settle(s)})
}

// content takes text of the answer, through the search for stop strings.
func (p *Parser) content(s string) {
	s = p.framing(s)
	p.code.feed(s)
	out, found := p.stops.feed(s)
	if found == "" {
		p.say(out)
		return
	}
	p.stopped = found
	p.say(out)
	if !p.after {
		p.give(Delta{Kind: Content, Text: string(p.space)})
	}
	p.space = nil
}

// say gives content out. White space around tool calls is framing.
func (p *Parser) say(s string) {
	if p.o.Plain {
		p.give(Delta{Kind: Content, Text: s})
		return
	}
	s = p.settle(s)
	if s == "" {
		return
	}
	if p.after && !p.said {
		s = strings.TrimLeft(s, blanks)
	}
	p.after, p.said = false, true
	p.give(Delta{Kind: Content, Text: s})
}

// schema finds the schema of a tool, nil if the request has none of the name.
func (p *Parser) schema(name string) *ToolSchema {
	i := slices.IndexFunc(p.o.Tools, func(t ToolSchema) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.o.Tools[i]
}
