package grammar

import (
	"maps"
	"slices"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// union compiles anyOf, and oneOf whose branches exclude each other. Keywords beside it become part of every branch.
func (c *compiler) union(v *value, key string) (node, error) {
	list := v.get(key)
	if list.kind != isArray || len(list.list) == 0 {
		return node{}, c.fail(ErrSchema, v, key, "a list of schemas is wanted")
	}
	if len(list.list) > maxAlternatives {
		return node{}, c.fail(ErrLimit, v, key, "more than %d alternatives", maxAlternatives)
	}
	n := node{kind: kindAlt}
	var branches []*value
	for _, b := range list.list {
		m, err := c.merge(v, b, key)
		if err != nil {
			return n, err
		}
		branches = append(branches, m)
		at, err := c.schema(m)
		if err != nil {
			return n, err
		}
		n.members = append(n.members, at)
	}
	if key == "oneOf" {
		for i, a := range branches {
			for j, b := range branches[:i] {
				if !c.disjoint(a, b) {
					return n, c.fail(ErrUnsupported, v, key, "branches %d and %d may both fit; only branches that differ in type, or in the constants of a required property, can be enforced (anyOf needs no such proof)", j, i)
				}
			}
		}
	}
	return n, nil
}

// merge returns a schema that says what v (without key) and branch b say together.
func (c *compiler) merge(v, b *value, key string) (*value, error) {
	if !slices.ContainsFunc(v.keys, func(k string) bool { _, ok := keywords[k]; return ok && k != key && !silent(k) }) {
		return b, nil
	}
	if v.get("enum") != nil || v.get("const") != nil {
		return nil, c.fail(ErrUnsupported, v, key, "cannot be combined with enum or const")
	}
	for hops := 0; b.kind == isObject && b.get("$ref") != nil; hops++ {
		target, err := c.resolve(b)
		if err != nil {
			return nil, err
		}
		if b = target; hops > maxSchemaDepth {
			return nil, c.fail(ErrUnsatisfiable, v, key, "a $ref leads back to itself")
		}
	}
	if b.kind == isBool && !b.truth {
		return b, nil
	}
	m := &value{kind: isObject, fields: map[string]*value{}, parent: b.parent, name: b.name}
	for _, k := range v.keys {
		if k != key {
			m.keys, m.fields[k] = append(m.keys, k), v.fields[k]
		}
	}
	for _, k := range b.keys {
		mine, theirs := m.fields[k], b.fields[k]
		switch {
		case mine == nil || silent(k):
			if mine == nil {
				m.keys = append(m.keys, k)
			}
			m.fields[k] = theirs
		case k == "type":
			t, err := c.common(v, b)
			if err != nil {
				return nil, err
			}
			m.fields[k] = t
		case k == "required" && mine.kind == isArray && theirs.kind == isArray:
			m.fields[k] = &value{kind: isArray, list: slices.Concat(mine.list, theirs.list), parent: b, name: k}
		default:
			return nil, c.fail(ErrUnsupported, v, key, "a branch and the schema around it both have %q", k)
		}
	}
	split := func(a, b *value) bool {
		return a.get("properties") != nil && b.get("properties") == nil && b.get("additionalProperties") != nil
	}
	if split(v, b) || split(b, v) {
		return nil, c.fail(ErrUnsupported, v, key, "additionalProperties and the properties it speaks of are on different sides of it")
	}
	return m, nil
}

// common is the type keyword of what two schemas both admit. There may be none: then it is that of the one, and an enum of nothing.
func (c *compiler) common(a, b *value) (*value, error) {
	x, err := c.types(a)
	if err != nil {
		return nil, err
	}
	y, err := c.types(b)
	if err != nil {
		return nil, err
	}
	t := &value{kind: isArray, parent: b, name: "type"}
	for _, name := range sortedKeys(typeNames) {
		if s := typeNames[name]; s&x&y == s {
			t.list = append(t.list, &value{kind: isString, text: name, parent: t})
		}
	}
	if len(t.list) == 0 {
		return nil, c.fail(ErrUnsatisfiable, a, "type", "a branch admits none of these types")
	}
	return t, nil
}

// disjoint reports whether it is certain that no value fits both schemas.
func (c *compiler) disjoint(a, b *value) bool {
	a, b = c.target(a), c.target(b)
	if a == nil || b == nil || a.kind != isObject || b.kind != isObject {
		return false
	}
	x, y := c.admitted(a), c.admitted(b)
	if x&y == 0 {
		return true
	}
	if p, q := c.finite(a), c.finite(b); p != nil && q != nil {
		return apart(p, q)
	}
	if x&y != typeObject {
		return false
	}
	ra, err1 := c.required(a)
	rb, err2 := c.required(b)
	pa, pb := a.get("properties"), b.get("properties")
	if err1 != nil || err2 != nil || pa == nil || pb == nil {
		return false
	}
	for name := range ra {
		if p, q := pa.get(name), pb.get(name); rb[name] && p != nil && q != nil {
			p, q := c.finite(c.target(p)), c.finite(c.target(q))
			if p != nil && q != nil && apart(p, q) {
				return true
			}
		}
	}
	return false
}

// target follows references; nil if they lead nowhere.
func (c *compiler) target(v *value) *value {
	for hops := 0; v != nil && v.kind == isObject && v.get("$ref") != nil; hops++ {
		t, err := c.resolve(v)
		if err != nil || hops > maxSchemaDepth {
			return nil
		}
		v = t
	}
	return v
}

// admitted is what a schema's type keyword, or its constants, allow. Keywords that only speak of a type do not exclude the others here.
func (c *compiler) admitted(v *value) types {
	set := types(allTypes)
	if v.get("type") != nil {
		if t, err := c.types(v); err == nil {
			set = t
		}
	}
	if v.get("enum") != nil || v.get("const") != nil {
		if list, err := c.listed(v); err == nil {
			t := types(0)
			for _, e := range list {
				t |= typeOf(e)
			}
			set &= t
		}
	}
	return set
}

// finite is the set of a schema's constants, nil if it has none.
func (c *compiler) finite(v *value) map[string]bool {
	if v == nil || v.kind != isObject || v.get("enum") == nil && v.get("const") == nil {
		return nil
	}
	list, err := c.listed(v)
	if err != nil {
		return nil
	}
	set := map[string]bool{}
	for _, e := range list {
		set[c.same(v, e)] = true
	}
	return set
}

func apart(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return false
		}
	}
	return true
}
