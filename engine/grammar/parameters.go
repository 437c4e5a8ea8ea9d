package grammar

import "errors"

// parameters compiles a tool's arguments.
func (c *compiler) parameters(t Tool) (int32, error) {
	schema := t.Parameters
	if len(schema) == 0 {
		schema = []byte(`{"type":"object"}`)
	}
	root, err := parse(schema)
	if err != nil {
		return 0, inTool(err, t.Name)
	}
	loose := c.Loose
	defer func() { c.Loose, c.tool = loose, "" }()
	c.root, c.tool, c.Loose = root, t.Name, loose || t.Loose
	v, err := c.argumentSchema(root)
	if err != nil {
		return 0, err
	}
	required, err := c.required(v)
	if err != nil {
		return 0, err
	}
	n := node{kind: kindParams, extra: -1, at: v.pointer()}
	add := func(name string, schema *value) error {
		if !plainName(name) {
			return c.fail(ErrUnsupported, v, "properties", "parameter %q: a name of at most 256 bytes, without line breaks, quotes, '<' and '>' is wanted", name)
		}
		p := property{name: name, required: required[name]}
		delete(required, name)
		if schema == nil {
			schema = &value{kind: isBool, truth: true, parent: v, name: name}
		}
		p.value, p.raw, err = c.argument(schema)
		if err == nil {
			_, err = c.literal(v, &n.lits, "<parameter="+name+">\n", len(n.props))
		}
		n.props = append(n.props, p)
		return err
	}
	if props := v.get("properties"); props != nil {
		for _, name := range props.keys {
			if err := add(name, props.get(name)); err != nil {
				return 0, err
			}
		}
	}
	for _, name := range requiredOrder(v) {
		if required[name] {
			if further := v.get("additionalProperties"); further != nil && further.kind == isBool && !further.truth {
				return 0, c.fail(ErrUnsatisfiable, v, "required", "%q is no property and additionalProperties forbids it", name)
			} else if err := add(name, further); err != nil {
				return 0, err
			}
		}
	}
	if len(n.props) > maxProperties {
		return 0, c.fail(ErrLimit, v, "properties", "more than %d", maxProperties)
	}
	if _, err := c.literal(v, &n.lits, "</function>\n", len(n.props)); err != nil {
		return 0, err
	}
	n.schedule()
	return c.g.put(n), nil
}

// argumentSchema follows references to the object schema of a tool's arguments and checks it.
func (c *compiler) argumentSchema(v *value) (*value, error) {
	for hops := 0; ; hops++ {
		if v.kind == isBool && v.truth {
			return &value{kind: isObject}, nil
		}
		if err := c.check(v); err != nil {
			return nil, err
		}
		if v.get("$ref") == nil {
			break
		}
		if hops > maxSchemaDepth {
			return nil, c.fail(ErrUnsatisfiable, v, "$ref", "leads back to itself")
		}
		target, err := c.resolve(v)
		if err != nil {
			return nil, err
		}
		v = target
	}
	for _, k := range []string{"anyOf", "oneOf", "enum", "const"} {
		if v.get(k) != nil {
			return nil, c.fail(ErrUnsupported, v, k, "a tool's parameters are one object with properties")
		}
	}
	if set, err := c.types(v); err != nil || set&typeObject == 0 {
		return nil, c.fail(ErrSchema, v, "type", "a tool's parameters are an object")
	}
	if p := v.get("properties"); p != nil && p.kind != isObject {
		return nil, c.fail(ErrSchema, v, "properties", "an object is wanted")
	}
	return v, nil
}

func inTool(err error, tool string) error {
	var se *SchemaError
	if errors.As(err, &se) {
		se.Tool = tool
	}
	return err
}
