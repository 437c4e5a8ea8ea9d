package grammar

import (
	"encoding/json"
	"strings"
)

// ParameterTypes tells how the values of a tool's parameters are written, by the JSON types that each admits: "string" alone is raw text; none means that anything
// may come, also raw text; without "string" it is JSON; and strings among other types are raw text that cannot be taken for those. A reader of tool calls goes by the
// same rule: engine/chat does. Integers are "number". Errors are *SchemaError.
func ParameterTypes(parameters []byte) (map[string][]string, error) {
	out := map[string][]string{}
	if len(parameters) == 0 {
		return out, nil
	}
	c, err := newCompiler(Options{Loose: true})
	if err != nil {
		return nil, err
	}
	if c.root, err = parse(parameters); err != nil {
		return nil, err
	}
	v, err := c.argumentSchema(c.root)
	if err != nil {
		return nil, err
	}
	if props := v.get("properties"); props != nil {
		for _, name := range props.keys {
			var list []string
			if p := c.profile(props.get(name), 0); !p.any {
				for _, n := range sortedKeys(typeNames) {
					if n != "integer" && p.all&typeNames[n] != 0 {
						list = append(list, n)
					}
				}
			}
			out[name] = list
		}
	}
	return out, nil
}

// profile is what a reader knows of a parameter.
type profile struct {
	any  bool  // the schema does not say
	all  types // the types it names
	free types // those of them that no enum or const narrows
}

func (c *compiler) profile(v *value, hops int) profile {
	v = c.target(v)
	switch {
	case v == nil || hops > maxSchemaDepth || v.kind == isBool && v.truth:
		return profile{any: true}
	case v.kind != isObject:
		return profile{}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := v.get(key); list != nil && v.get("type") == nil {
			var p profile
			for _, b := range list.list {
				q := c.profile(b, hops+1)
				p = profile{p.any || q.any, p.all | q.all, p.free | q.free}
			}
			return p
		}
	}
	narrowed := v.get("enum") != nil || v.get("const") != nil
	if narrowed && v.get("type") == nil {
		return profile{all: c.admitted(v)}
	}
	if v.get("type") == nil && !c.speaks(v) {
		return profile{any: true}
	}
	set, err := c.types(v)
	p := profile{any: err != nil, all: set}
	if !narrowed && v.get("anyOf") == nil && v.get("oneOf") == nil {
		p.free = set
	}
	return p
}

// argument compiles a parameter's value. raw tells that its node takes the closing tag as well, but not the newline after it.
func (c *compiler) argument(v *value) (at int32, raw bool, err error) {
	p := c.profile(v, 0)
	switch {
	case p.any:
		if v.kind == isObject { // unsupported keywords are refused here, too
			if _, err := c.schema(v); err != nil {
				return 0, false, err
			}
		}
		at, err = c.reserve(v)
		if err == nil {
			c.g.nodes[at] = node{kind: kindRaw, max: unlimited, at: v.pointer(), raw: rawSpec{close: rawClose, newline: true, tag: -1}}
		}
		return at, true, err
	case p.all&typeString == 0:
		at, err = c.schema(v)
		return at, false, err
	}
	at, err = c.rawValue(v, p)
	return at, true, err
}

// rawValue compiles a schema that admits strings, and perhaps other types.
func (c *compiler) rawValue(v *value, p profile) (int32, error) {
	if c.depth++; c.depth > maxSchemaDepth {
		return 0, c.fail(ErrLimit, v, "", "nested deeper than %d", maxSchemaDepth)
	}
	defer func() { c.depth-- }()
	at, err := c.reserve(v)
	if err != nil {
		return 0, err
	}
	n, err := c.rawNode(v, p)
	n.at = v.pointer()
	c.g.nodes[at] = n
	return at, err
}

func (c *compiler) rawNode(v *value, p profile) (node, error) {
	alt := node{kind: kindAlt}
	if v.kind == isBool {
		return alt, nil // false: true is anything
	}
	if err := c.check(v); err != nil {
		return alt, err
	}
	for _, key := range []string{"$ref", "anyOf", "oneOf"} {
		if v.get(key) == nil {
			continue
		}
		var branches []*value
		if key == "$ref" {
			target, err := c.resolve(v)
			if err != nil {
				return alt, err
			}
			branches = append(branches, target)
		} else {
			// The JSON form has all the checks; its nodes are left over.
			if _, err := c.union(v, key); err != nil {
				return alt, err
			}
			for _, b := range v.get(key).list {
				m, err := c.merge(v, b, key)
				if err != nil {
					return alt, err
				}
				branches = append(branches, m)
			}
		}
		for _, b := range branches {
			at, err := c.rawValue(b, p)
			if err != nil {
				return alt, err
			}
			alt.members = append(alt.members, at)
		}
		return alt, nil
	}
	if v.get("enum") != nil || v.get("const") != nil {
		return c.rawConstants(v, p)
	}
	set, err := c.types(v)
	if err != nil {
		return alt, err
	}
	if set&typeString != 0 {
		low, high, err := c.span(v, "minLength", "maxLength")
		if err != nil {
			return alt, err
		}
		if low <= high {
			n := node{kind: kindRaw, min: low, max: high, raw: rawSpec{close: rawClose, newline: true, tag: -1, not: p.not()}}
			if set == typeString {
				return n, nil
			}
			if err := c.member(&alt, v, n); err != nil {
				return alt, err
			}
		}
	}
	if set &^= typeString; set != 0 {
		n, err := c.typed(v, set)
		if err != nil {
			return alt, err
		}
		at, err := c.reserve(v)
		if err != nil {
			return alt, err
		}
		c.g.nodes[at] = n
		err = c.member(&alt, v, closed(at))
		return alt, err
	}
	return alt, nil
}

// closed is JSON and the closing tag.
func closed(at int32) node {
	return node{kind: kindSeq, elems: []elem{{kind: elemCall, node: at}, {kind: elemLit, text: "\n" + rawClose}}}
}

// member adds a node to alternatives.
func (c *compiler) member(alt *node, v *value, n node) error {
	at, err := c.reserve(v)
	if err != nil {
		return err
	}
	n.at = v.pointer()
	c.g.nodes[at] = n
	alt.members = append(alt.members, at)
	return nil
}

// not lists the bytes that raw text cannot begin with, lest a reader who tries JSON first takes it for a value of another type that the schema then refuses.
func (p profile) not() string {
	not := ""
	for _, k := range []struct {
		set   types
		free  bool // any value of the type is fine, if no enum narrows it
		first string
	}{
		{typeNumber, false, "-0123456789"}, {typeObject, false, "{"}, {typeArray, false, "["},
		{typeBoolean, true, "tfTF"}, {typeNull, true, "nN"},
	} {
		if p.all&k.set != 0 && !(k.free && p.free&k.set != 0) {
			not += k.first
		}
	}
	if not != "" {
		not += " \t\n\v\f\r"
	}
	return not
}

// rawConstants compiles enum and const of a parameter that admits strings.
func (c *compiler) rawConstants(v *value, p profile) (node, error) {
	alt := node{kind: kindAlt}
	set, err := types(allTypes), error(nil)
	if v.get("type") != nil {
		if set, err = c.types(v); err != nil {
			return alt, err
		}
	}
	list, err := c.listed(v)
	if err != nil {
		return alt, err
	}
	var lits literals
	for i, e := range list {
		fits, err := c.fits(v, e, set)
		if err != nil {
			return alt, err
		}
		if !fits {
			continue
		}
		text := e.text
		switch e.kind {
		case isArray, isObject:
			at, err := c.constant(e)
			if err != nil {
				return alt, err
			}
			if err := c.member(&alt, v, closed(at)); err != nil {
				return alt, err
			}
			continue
		case isString:
			if strings.Contains(text, rawClose) {
				return alt, c.fail(ErrUnsupported, v, "enum", "raw text cannot hold %q", rawClose)
			}
			if p.mistakes(text) {
				continue
			}
		default:
			if text, err = c.spell(v, e); err != nil {
				return alt, err
			}
		}
		if _, err := c.literal(v, &lits, text+"\n"+rawClose, i); err != nil {
			return alt, err
		}
	}
	if lits != nil {
		err = c.member(&alt, v, node{kind: kindLiteral, lits: lits})
	}
	return alt, err
}

// mistakes reports whether a reader takes the raw text of a string for a value of another type.
func (p profile) mistakes(text string) bool {
	bare := strings.TrimSpace(text)
	switch bare {
	case "True", "False":
		return p.all&typeBoolean != 0
	case "None":
		return p.all&typeNull != 0
	}
	if p.all == typeString || bare == "" || bare[0] == '"' || !json.Valid([]byte(bare)) {
		return false
	}
	v, err := parse([]byte(bare))
	if err != nil {
		return true
	}
	is := typeOf(v)
	if is&typeNumber != 0 {
		is = typeNumber
	}
	return p.all&is != 0
}
