package grammar

import (
	"strings"
	"unicode/utf8"
)

// constants compiles enum and const. Values that the other keywords of the schema exclude are left out.
func (c *compiler) constants(v *value, set types) (node, error) {
	if v.get("type") == nil {
		set = allTypes
	}
	list, err := c.listed(v)
	if err != nil {
		return node{}, err
	}
	n := node{kind: kindLiteral}
	alt := node{kind: kindAlt}
	for i, e := range list {
		fits, err := c.fits(v, e, set)
		if err != nil {
			return n, err
		}
		switch {
		case !fits:
		case e.kind == isObject || e.kind == isArray:
			at, err := c.constant(e)
			if err != nil {
				return n, err
			}
			alt.members = append(alt.members, at)
		default:
			text, err := c.spell(v, e)
			if err != nil {
				return n, err
			}
			if _, err := c.literal(v, &n.lits, text, i); err != nil {
				return n, err
			}
		}
	}
	switch {
	case len(alt.members) == 0 && n.lits != nil:
		return n, nil
	case n.lits != nil:
		at, err := c.reserve(v)
		if err != nil {
			return n, err
		}
		c.g.nodes[at] = n
		alt.members = append(alt.members, at)
	}
	return alt, nil
}

// listed returns the values that enum and const leave.
func (c *compiler) listed(v *value) ([]*value, error) {
	enum, constant := v.get("enum"), v.get("const")
	if enum != nil && enum.kind != isArray {
		return nil, c.fail(ErrSchema, v, "enum", "a list of values is wanted")
	}
	if constant == nil {
		return enum.list, nil
	}
	if enum == nil {
		return []*value{constant}, nil
	}
	for _, e := range enum.list {
		if c.same(v, e) == c.same(v, constant) {
			return []*value{constant}, nil
		}
	}
	return nil, nil
}

// same is a text equal for equal values.
func (c *compiler) same(v, e *value) string {
	var b strings.Builder
	switch e.kind {
	case isArray:
		for _, x := range e.list {
			b.WriteString("[" + c.same(v, x))
		}
		return b.String() + "]"
	case isObject:
		parts := make(map[string]string, len(e.keys))
		for _, k := range e.keys {
			parts[k] = c.same(v, e.fields[k])
		}
		for _, k := range sortedKeys(parts) {
			b.WriteString("{" + quote(k) + parts[k])
		}
		return b.String() + "}"
	}
	text, err := c.spell(v, e)
	if err != nil {
		return e.text
	}
	return text
}

// spell is the one spelling of a scalar.
func (c *compiler) spell(v, e *value) (string, error) {
	switch e.kind {
	case isNull:
		return "null", nil
	case isBool:
		if e.truth {
			return "true", nil
		}
		return "false", nil
	case isString:
		return c.quote(e.text), nil
	}
	d, _, ok := parseDecimal(e.text)
	if !ok {
		return "", c.fail(ErrLimit, v, "enum", "%s has more than %d digits", e.text, maxDigits)
	}
	return d.String(), nil
}

// constant returns the node of one value.
func (c *compiler) constant(e *value) (int32, error) {
	at, err := c.reserve(e)
	if err != nil {
		return 0, err
	}
	n := node{at: e.pointer()}
	switch e.kind {
	case isObject:
		n.kind, n.extra = kindObject, -1
		for i, k := range e.keys {
			p, err := c.constant(e.fields[k])
			if err != nil {
				return 0, err
			}
			n.props = append(n.props, property{name: k, value: p, required: true})
			if _, err := c.literal(e, &n.lits, c.quote(k)[1:], i); err != nil {
				return 0, err
			}
		}
		n.schedule()
	case isArray:
		n.kind, n.min, n.max = kindArray, uint32(len(e.list)), uint32(len(e.list))
		for _, x := range e.list {
			p, err := c.constant(x)
			if err != nil {
				return 0, err
			}
			n.members = append(n.members, p)
		}
	default:
		text, err := c.spell(e, e)
		if err != nil {
			return 0, err
		}
		n.kind = kindLiteral
		if _, err := c.literal(e, &n.lits, text, 0); err != nil {
			return 0, err
		}
	}
	c.g.nodes[at] = n
	return at, nil
}

// fits reports whether the keywords beside enum and const admit a value.
func (c *compiler) fits(v, e *value, set types) (bool, error) {
	if set&typeOf(e) == 0 {
		return false, nil
	}
	switch e.kind {
	case isString:
		low, high, err := c.span(v, "minLength", "maxLength")
		n := uint32(utf8.RuneCountInString(e.text))
		return low <= n && n <= high, err
	case isNumber:
		r, err := c.interval(v, false)
		if err != nil {
			return false, err
		}
		d, _, ok := parseDecimal(e.text)
		if !ok {
			_, err := c.spell(v, e)
			return false, err
		}
		low := r.low == nil || d.cmp(*r.low) > 0 || d.cmp(*r.low) == 0 && !r.openLow
		return low && (r.high == nil || d.cmp(*r.high) < 0 || d.cmp(*r.high) == 0 && !r.openUp), nil
	case isArray, isObject:
		for _, k := range v.keys {
			if keywords[k]&(typeArray|typeObject) != 0 {
				return false, c.fail(ErrUnsupported, v, k, "cannot be combined with enum or const of arrays or objects")
			}
		}
	}
	return true, nil
}

func typeOf(e *value) types {
	switch e.kind {
	case isNull:
		return typeNull
	case isBool:
		return typeBoolean
	case isString:
		return typeString
	case isArray:
		return typeArray
	case isObject:
		return typeObject
	}
	if d, _, ok := parseDecimal(e.text); ok && d.isInteger() {
		return typeInteger
	}
	return typeFraction
}
