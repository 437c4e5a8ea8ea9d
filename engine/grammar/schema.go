package grammar

import (
	"fmt"
	"slices"
)

// keywords that say something, and the types of values they speak of (0: any).
var keywords = map[string]types{
	"type": 0, "enum": 0, "const": 0, "anyOf": 0, "oneOf": 0, "$ref": 0, "$defs": 0, "definitions": 0,
	"properties": typeObject, "required": typeObject, "additionalProperties": typeObject,
	"items": typeArray, "minItems": typeArray, "maxItems": typeArray,
	"minLength": typeString, "maxLength": typeString,
	"minimum": typeNumber, "maximum": typeNumber, "exclusiveMinimum": typeNumber, "exclusiveMaximum": typeNumber,
}

var annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "strict", "$schema", "$id", "$comment"}

// silent reports whether a keyword says nothing about values.
func silent(key string) bool {
	return slices.Contains(annotations, key) || key == "$defs" || key == "definitions"
}

// compiler turns one schema document into nodes.
type compiler struct {
	Options
	g        *Grammar
	root     *value
	tool     string
	memo     map[*value]int32 // by schema
	numbers  map[string]*automaton
	any      int32 // the node of any value, 0 until it is needed
	depth    int
	literals int
	guard    bool // strings must not hold rawClose
}

// Compile makes a grammar of a JSON Schema. Errors are *SchemaError.
func Compile(schema []byte, o Options) (*Grammar, error) {
	c, err := newCompiler(o)
	if err != nil {
		return nil, err
	}
	if c.root, err = parse(schema); err != nil {
		return nil, err
	}
	if c.g.root, err = c.schema(c.root); err != nil {
		return nil, err
	}
	if err := c.g.link(); err != nil {
		return nil, err
	}
	return c.g, nil
}

// JSONObject is the grammar of any JSON object, what response_format json_object asks for. Errors are those of Options.
func JSONObject(o Options) (*Grammar, error) {
	o.Open = true
	return Compile([]byte(`{"type":"object"}`), o)
}

func newCompiler(o Options) (*compiler, error) {
	depth, err := o.depth()
	if err != nil {
		return nil, err
	}
	return &compiler{
		Options: o, g: &Grammar{nodes: []node{{kind: kindBottom}}, depth: depth},
		memo: map[*value]int32{}, numbers: map[string]*automaton{},
	}, nil
}

func (c *compiler) fail(kind error, v *value, keyword, format string, args ...any) error {
	return &SchemaError{Keyword: keyword, Pointer: v.pointer(), Tool: c.tool, Reason: fmt.Sprintf(format, args...), Kind: kind}
}

// schema returns the node of a schema. A schema that is being compiled already has one: this is what makes recursion work.
func (c *compiler) schema(v *value) (int32, error) {
	if at, ok := c.memo[v]; ok {
		return at, nil
	}
	if c.depth++; c.depth > maxSchemaDepth {
		return 0, c.fail(ErrLimit, v, "", "nested deeper than %d", maxSchemaDepth)
	}
	defer func() { c.depth-- }()
	at, err := c.reserve(v)
	if err != nil {
		return 0, err
	}
	c.memo[v] = at
	n, err := c.compile(v)
	if err != nil {
		return 0, err
	}
	n.at = v.pointer()
	c.g.nodes[at] = n
	return at, nil
}

func (c *compiler) reserve(v *value) (int32, error) {
	if len(c.g.nodes) >= maxNodes {
		return 0, c.fail(ErrLimit, v, "", "more than %d values to describe", maxNodes)
	}
	return c.g.put(node{}), nil
}

func (c *compiler) compile(v *value) (node, error) {
	if v.kind == isBool {
		if !v.truth {
			return node{kind: kindAlt}, nil
		}
		return c.alias(c.anything(v))
	}
	if err := c.check(v); err != nil {
		return node{}, err
	}
	set, err := c.types(v)
	if err != nil {
		return node{}, err
	}
	switch {
	case v.get("$ref") != nil:
		target, err := c.resolve(v)
		if err != nil {
			return node{}, err
		}
		return c.alias(c.schema(target))
	case v.get("anyOf") != nil:
		return c.union(v, "anyOf")
	case v.get("oneOf") != nil:
		return c.union(v, "oneOf")
	case v.get("enum") != nil || v.get("const") != nil:
		return c.constants(v, set)
	case set == allTypes && !c.speaks(v):
		return c.alias(c.anything(v))
	}
	return c.typed(v, set)
}

func (c *compiler) alias(to int32, err error) (node, error) {
	return node{kind: kindAlt, members: []int32{to}}, err
}

// check refuses what is no schema and keywords that are not supported.
func (c *compiler) check(v *value) error {
	if v.kind != isObject {
		return c.fail(ErrSchema, v, "", "a schema is an object or a boolean")
	}
	for _, key := range v.keys {
		if _, ok := keywords[key]; !ok && !c.Loose && !slices.Contains(annotations, key) {
			return c.fail(ErrUnsupported, v, key, "this keyword cannot be enforced")
		}
	}
	return nil
}

// speaks reports whether v has a keyword that says something about values.
func (c *compiler) speaks(v *value) bool {
	return slices.ContainsFunc(v.keys, func(k string) bool { _, ok := keywords[k]; return ok && !silent(k) })
}

// typed compiles a schema by its types.
func (c *compiler) typed(v *value, set types) (node, error) {
	var found []node
	if set&typeObject != 0 {
		n, err := c.object(v)
		if err != nil {
			return node{}, err
		}
		found = append(found, n)
	}
	if set&typeArray != 0 {
		n, err := c.array(v)
		if err != nil {
			return node{}, err
		}
		found = append(found, n)
	}
	if set&typeString != 0 {
		low, high, err := c.span(v, "minLength", "maxLength")
		if err != nil {
			return node{}, err
		}
		if low <= high {
			found = append(found, node{kind: kindString, min: low, max: high, guard: c.guard})
		}
	}
	if set&typeNumber != 0 {
		r, err := c.interval(v, set&typeFraction == 0)
		if err != nil {
			return node{}, err
		}
		if a := c.automaton(r); a != nil {
			found = append(found, node{kind: kindNumber, digits: a})
		}
	}
	var words literals
	if set&typeBoolean != 0 {
		words.add("true", 0)
		words.add("false", 1)
	}
	if set&typeNull != 0 {
		words.add("null", 2)
	}
	if words != nil {
		found = append(found, node{kind: kindLiteral, lits: words})
	}
	if len(found) == 1 {
		return found[0], nil
	}
	alt := node{kind: kindAlt}
	for _, n := range found {
		at, err := c.reserve(v)
		if err != nil {
			return node{}, err
		}
		n.at = v.pointer()
		c.g.nodes[at] = n
		alt.members = append(alt.members, at)
	}
	return alt, nil
}

// anything returns the node of any JSON value.
func (c *compiler) anything(v *value) (int32, error) {
	if c.any != 0 {
		return c.any, nil
	}
	at, err := c.reserve(v)
	if err != nil {
		return 0, err
	}
	c.any = at
	n, err := c.typed(&value{kind: isObject, parent: v.parent, name: v.name}, allTypes)
	c.g.nodes[at] = n
	return at, err
}

// array compiles the array part of a schema.
func (c *compiler) array(v *value) (n node, err error) {
	n = node{kind: kindArray}
	if n.min, n.max, err = c.span(v, "minItems", "maxItems"); err != nil {
		return n, err
	}
	if n.min > n.max {
		return node{kind: kindAlt}, nil
	}
	if items := v.get("items"); items == nil {
		n.items, err = c.anything(v)
	} else {
		n.items, err = c.schema(items)
	}
	return n, err
}
