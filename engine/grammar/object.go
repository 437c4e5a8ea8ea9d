package grammar

import "strings"

// object compiles the object part of a schema.
func (c *compiler) object(v *value) (node, error) {
	n := node{kind: kindObject, extra: -1}
	required, err := c.required(v)
	if err != nil {
		return n, err
	}
	props := v.get("properties")
	if props != nil && props.kind != isObject {
		return n, c.fail(ErrSchema, v, "properties", "an object is wanted")
	}
	further := v.get("additionalProperties")
	open := c.Open || props == nil || len(props.keys) == 0
	if further != nil {
		open = further.kind != isBool || further.truth
	}
	if open {
		if n.extra, err = c.further(v, further); err != nil {
			return n, err
		}
	}
	if props != nil {
		for _, name := range props.keys {
			at, err := c.schema(props.get(name))
			if err != nil {
				return n, err
			}
			n.props = append(n.props, property{name: name, value: at, required: required[name]})
			delete(required, name)
		}
	}
	for _, name := range requiredOrder(v) { // required, but not described
		if !required[name] {
			continue
		}
		delete(required, name)
		at := n.extra
		if at < 0 && further == nil {
			if at, err = c.anything(v); err != nil {
				return n, err
			}
		}
		if at < 0 {
			return n, c.fail(ErrUnsatisfiable, v, "required", "%q is no property and additionalProperties forbids it", name)
		}
		n.props = append(n.props, property{name: name, value: at, required: true})
	}
	if len(n.props) > maxProperties {
		return n, c.fail(ErrLimit, v, "properties", "more than %d", maxProperties)
	}
	for i, p := range n.props {
		if _, err := c.literal(v, &n.lits, c.quote(p.name)[1:], i); err != nil {
			return n, err
		}
	}
	n.schedule()
	if n.extra >= 0 {
		at, err := c.reserve(v)
		if err != nil {
			return n, err
		}
		c.g.nodes[at] = node{kind: kindString, max: unlimited, lits: n.lits, guard: c.guard}
		n.free = at
	}
	return n, nil
}

// further returns the node of the values of further properties.
func (c *compiler) further(v, schema *value) (int32, error) {
	if schema == nil {
		return c.anything(v)
	}
	return c.schema(schema)
}

// required reads the set of required names.
func (c *compiler) required(v *value) (map[string]bool, error) {
	set := map[string]bool{}
	if r := v.get("required"); r != nil {
		if r.kind != isArray {
			return nil, c.fail(ErrSchema, v, "required", "a list of names is wanted")
		}
		for _, e := range r.list {
			if e.kind != isString {
				return nil, c.fail(ErrSchema, v, "required", "a list of names is wanted")
			}
			set[e.text] = true
		}
	}
	return set, nil
}

func requiredOrder(v *value) (names []string) {
	if r := v.get("required"); r != nil {
		for _, e := range r.list {
			names = append(names, e.text)
		}
	}
	return names
}

// schedule fills in next.
func (n *node) schedule() {
	n.next = make([]uint16, len(n.props)+1)
	n.next[len(n.props)] = uint16(len(n.props))
	for i := len(n.props) - 1; i >= 0; i-- {
		n.next[i] = n.next[i+1]
		if n.props[i].required {
			n.next[i] = uint16(i)
		}
	}
}

// literal adds a spelling to a trie within the limits of a schema. It reports whether it is new.
func (c *compiler) literal(v *value, t *literals, text string, index int) (bool, error) {
	if c.literals += len(text); c.literals > maxLiteralBytes || index > 1<<16-2 {
		return false, c.fail(ErrLimit, v, "", "names and constants come to more than %d bytes", maxLiteralBytes)
	}
	return t.add(text, uint16(index)), nil
}

// child returns the field or the item of that name, nil if there is none.
func (v *value) child(name string) *value {
	if v.kind == isObject {
		return v.fields[name]
	}
	for _, e := range v.list {
		if e.name == name {
			return e
		}
	}
	return nil
}

// quote is quote, in a way that keeps a guarded tag out.
func (c *compiler) quote(s string) string {
	s = quote(s)
	if c.guard {
		s = strings.ReplaceAll(s, rawClose, `<\/parameter>`)
	}
	return s
}
