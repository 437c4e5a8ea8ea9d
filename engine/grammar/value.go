package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

type valueKind uint8

const (
	isNull valueKind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

// value is a JSON value that knows its place in the document and the order of its keys.
type value struct {
	kind   valueKind
	truth  bool
	text   string // a string's, or a number as written
	list   []*value
	keys   []string
	fields map[string]*value
	parent *value
	name   string // key or index in parent
}

// get returns the field of an object, nil if there is none.
func (v *value) get(key string) *value { return v.fields[key] }

// pointer is the JSON pointer of v.
func (v *value) pointer() string {
	var parts []string
	for ; v.parent != nil; v = v.parent {
		parts = append(parts, strings.NewReplacer("~", "~0", "/", "~1").Replace(v.name))
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString("/" + parts[i])
	}
	return b.String()
}

// parse reads one JSON document. Duplicate keys, which have no one meaning, and what exceeds the limits are errors.
func parse(data []byte) (*value, error) {
	if len(data) > maxSchemaBytes {
		return nil, &SchemaError{Kind: ErrLimit, Reason: fmt.Sprintf("%d bytes, at most %d", len(data), maxSchemaBytes)}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := parseValue(d, nil, "", 0)
	if err != nil {
		var se *SchemaError
		if errors.As(err, &se) {
			return nil, err
		}
		return nil, &SchemaError{Kind: ErrSchema, Reason: "not JSON: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &SchemaError{Kind: ErrSchema, Reason: "more than one JSON value"}
	}
	return v, nil
}

func parseValue(d *json.Decoder, parent *value, name string, depth int) (*value, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &value{parent: parent, name: name}
	if depth > maxSchemaDepth {
		return nil, &SchemaError{Pointer: v.pointer(), Kind: ErrLimit, Reason: fmt.Sprintf("nested deeper than %d", maxSchemaDepth)}
	}
	switch t := tok.(type) {
	case nil:
		v.kind = isNull
	case bool:
		v.kind, v.truth = isBool, t
	case json.Number:
		v.kind, v.text = isNumber, t.String()
	case string:
		v.kind, v.text = isString, t
	case json.Delim:
		if t == '[' {
			v.kind = isArray
			for d.More() {
				e, err := parseValue(d, v, strconv.Itoa(len(v.list)), depth+1)
				if err != nil {
					return nil, err
				}
				v.list = append(v.list, e)
			}
		} else {
			v.kind, v.fields = isObject, map[string]*value{}
			for d.More() {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key := k.(string) // the decoder lets nothing else stand there
				if v.fields[key] != nil {
					return nil, &SchemaError{Keyword: key, Pointer: v.pointer(), Kind: ErrSchema, Reason: "given twice"}
				}
				e, err := parseValue(d, v, key, depth+1)
				if err != nil {
					return nil, err
				}
				v.keys, v.fields[key] = append(v.keys, key), e
			}
		}
		_, err = d.Token() // the closing bracket
	}
	return v, err
}

// quote is the one spelling of a string that this package writes and expects: the shortest JSON allows.
func quote(s string) string {
	b := []byte{'"'}
	for i := range len(s) {
		c := s[i]
		if e := strings.IndexByte("\"\\\b\f\n\r\t", c); e >= 0 {
			b = append(b, '\\', "\"\\bfnrt"[e])
		} else if c < 0x20 {
			b = fmt.Appendf(b, "\\u%04x", c)
		} else {
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
