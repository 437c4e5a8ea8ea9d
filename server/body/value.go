package body

import "strconv"

// Kind is the JSON type of a value.
type Kind uint8

// The JSON types.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String names the type as clients know it.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one JSON value. Values are immutable; Raw is a slice of the parsed bytes.
type Value struct {
	Kind    Kind
	Raw     []byte   // the value's text as sent, without surrounding white space
	Text    string   // String: decoded; Number: as written; Bool: "true" or "false"
	Items   []*Value // Array
	Members []Member // Object, in the order sent
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value *Value
}

// Get returns the member called name.
func (v *Value) Get(name string) (*Value, bool) {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value, true
		}
	}
	return nil, false
}

// Path joins a parent path and a member name.
func Path(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// Index joins a parent path and an array index.
func Index(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }
