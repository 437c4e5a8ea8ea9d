package grammar

// types is a set of JSON types. Integers are numbers.
type types uint8

const (
	typeString   types = 1 << iota
	typeFraction       // numbers that are no integers
	typeInteger
	typeBoolean
	typeNull
	typeObject
	typeArray
	typeNumber = typeFraction | typeInteger
	allTypes   = 1<<7 - 1
)

var typeNames = map[string]types{
	"string": typeString, "number": typeNumber, "integer": typeInteger, "boolean": typeBoolean,
	"null": typeNull, "object": typeObject, "array": typeArray,
}

// types returns the types that v admits: those of its type keyword, or else those that its other keywords speak of, or else all.
func (c *compiler) types(v *value) (types, error) {
	t := v.get("type")
	if t == nil {
		set := types(0)
		for _, k := range v.keys {
			set |= keywords[k]
		}
		if set == 0 {
			set = allTypes
		}
		return set, nil
	}
	list := t.list
	if t.kind == isString {
		list = []*value{t}
	}
	set := types(0)
	for _, e := range list {
		if e.kind != isString || typeNames[e.text] == 0 {
			return 0, c.fail(ErrSchema, v, "type", "%q is no type", e.text)
		}
		set |= typeNames[e.text]
	}
	if set == 0 {
		return 0, c.fail(ErrSchema, v, "type", "a type name or a list of them is wanted")
	}
	return set, nil
}
