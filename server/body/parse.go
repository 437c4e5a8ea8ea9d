package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// Limits bound what Parse accepts.
type Limits struct {
	Depth  int // most nested arrays and objects
	Values int // most values in all; 0: no limit
}

// Parse reads exactly one JSON value from data. Refused beyond encoding/json's grammar: an empty body, bytes that are not
// UTF-8, escapes that name half a surrogate pair, a name that occurs twice in one object, nesting deeper than
// limits.Depth. The tree aliases data. Errors are *Error.
func Parse(data []byte, limits Limits) (*Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, Errorf("", CodeInvalidJSON, "the request body is empty: a JSON object is needed")
	}
	if !utf8.Valid(data) {
		return nil, Errorf("", CodeInvalidJSON, "the request body is not valid UTF-8 (first bad byte at offset %d)", firstInvalid(data))
	}
	// The grammar is checked by encoding/json, so the walk below meets well-formed text only.
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, syntax(data, err)
	}
	p := parser{data: data, limits: limits}
	p.space()
	return p.value("", 0)
}

// syntax turns a grammar error into one that names the field it happened at, if the text before it shows one.
func syntax(data []byte, err error) *Error {
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return Errorf("", CodeInvalidJSON, "the request body is not valid JSON: %v", err)
	}
	at := min(max(int(se.Offset)-1, 0), len(data))
	out := Errorf("", CodeInvalidJSON, "the request body is not valid JSON: %v (at byte %d)", se, at)
	before := bytes.TrimRight(data[:at], " \t\r\n-0123456789.eE+")
	if bytes.HasSuffix(before, []byte(":")) {
		before = bytes.TrimRight(before[:len(before)-1], " \t\r\n")
		if n := len(before) - 1; n > 0 && before[n] == '"' {
			if q := bytes.LastIndexByte(before[:n], '"'); q >= 0 {
				out.Param = string(before[q+1 : n])
				out.Message = "'" + out.Param + "': " + out.Message
			}
		}
	}
	rest := data[at:]
	for _, word := range []string{"NaN", "nan", "Infinity", "inf", "I", "N"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			out.Message += "; JSON has no NaN or Infinity"
			break
		}
	}
	return out
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// parser walks text that encoding/json has found well-formed.
type parser struct {
	data   []byte
	at     int
	count  int
	limits Limits
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(path string, depth int) (*Value, error) {
	p.count++
	if p.limits.Values > 0 && p.count > p.limits.Values {
		return nil, Errorf("", CodeInvalidValue, "the request body has more than %d JSON values", p.limits.Values)
	}
	start := p.at
	v := &Value{}
	var err error
	switch c := p.data[p.at]; c {
	case '{', '[':
		if depth >= p.limits.Depth {
			return nil, Errorf(path, CodeInvalidValue, "is nested too deeply: at most %d levels are read", p.limits.Depth)
		}
		if c == '{' {
			err = p.object(v, path, depth)
		} else {
			err = p.array(v, path, depth)
		}
	case '"':
		v.Kind = String
		v.Text, err = p.str(path)
	case 't', 'f':
		v.Kind, v.Text = Bool, "true"
		if c == 'f' {
			v.Text = "false"
		}
		p.at += len(v.Text)
	case 'n':
		p.at += len("null")
	default:
		v.Kind = Number
		for p.at < len(p.data) && strings.IndexByte("+-0123456789.eE", p.data[p.at]) >= 0 {
			p.at++
		}
		v.Text = string(p.data[start:p.at])
	}
	if err != nil {
		return nil, err
	}
	v.Raw = p.data[start:p.at]
	return v, nil
}

func (p *parser) object(v *Value, path string, depth int) error {
	v.Kind = Object
	seen := map[string]struct{}{}
	p.at++ // {
	for p.space(); p.data[p.at] != '}'; p.space() {
		if p.data[p.at] == ',' {
			p.at++
			p.space()
		}
		name, err := p.str(path)
		if err != nil {
			return err
		}
		member := Path(path, name)
		if _, twice := seen[name]; twice {
			return Errorf(member, CodeInvalidValue, "is given twice")
		}
		seen[name] = struct{}{}
		p.space()
		p.at++ // :
		p.space()
		item, err := p.value(member, depth+1)
		if err != nil {
			return err
		}
		v.Members = append(v.Members, Member{Name: name, Value: item})
	}
	p.at++ // }
	return nil
}

func (p *parser) array(v *Value, path string, depth int) error {
	v.Kind = Array
	p.at++ // [
	for p.space(); p.data[p.at] != ']'; p.space() {
		if p.data[p.at] == ',' {
			p.at++
			p.space()
		}
		item, err := p.value(Index(path, len(v.Items)), depth+1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
	p.at++ // ]
	return nil
}

// str reads a string. encoding/json would turn half a surrogate pair into U+FFFD; the text would not be what was sent, so
// it is refused.
func (p *parser) str(path string) (string, error) {
	start := p.at
	escaped := false
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	raw := p.data[start:p.at]
	if !escaped {
		return string(raw[1 : len(raw)-1]), nil
	}
	if loneSurrogate(raw) {
		return "", Errorf(path, CodeInvalidValue, `has an escape for half a surrogate pair (\ud800-\udfff alone): the text is not Unicode`)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", Errorf(path, CodeInvalidJSON, "is not a JSON string: %v", err)
	}
	return text, nil
}

// loneSurrogate reports whether the quoted string has a \u escape of a surrogate without its partner.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		unit := hex4(raw[i+1:])
		i += 4
		switch {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			if i+6 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
				return true
			}
			if low := hex4(raw[i+3:]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
	}
	return false
}

// hex4 reads four hex digits; the grammar check has seen to it that they are there.
func hex4(b []byte) (unit int) {
	for _, c := range b[:4] {
		unit <<= 4
		switch {
		case c >= 'a':
			unit |= int(c-'a') + 10
		case c >= 'A':
			unit |= int(c-'A') + 10
		default:
			unit |= int(c - '0')
		}
	}
	return unit
}
