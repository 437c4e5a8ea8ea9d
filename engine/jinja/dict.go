package jinja

// Dict is a Python dictionary: keys keep the order in which they were first set. Keys are None, booleans, numbers and strings.
type Dict struct {
	keys  []Value
	vals  []Value
	index map[Value]int
}

// NewDict makes an empty dictionary.
func NewDict() *Dict { return &Dict{index: map[Value]int{}} }

// hashKey folds the numbers that Python holds equal into one; false for unhashable values.
func hashKey(k Value) (Value, bool) {
	switch k := k.(type) {
	case nil, string, int64:
		return k, true
	case bool:
		if k {
			return int64(1), true
		}
		return int64(0), true
	case float64:
		if k == float64(int64(k)) {
			return int64(k), true
		}
		return k, true
	}
	return nil, false
}

// Set adds or replaces an entry; a replaced one keeps its place. Keys that Python could not hash are an error.
func (d *Dict) Set(key, value Value) error {
	h, ok := hashKey(key)
	if !ok {
		return fail("unhashable type: '%s'", typeName(key))
	}
	if i, ok := d.index[h]; ok {
		d.vals[i] = value
		return nil
	}
	d.index[h] = len(d.keys)
	d.keys = append(d.keys, key)
	d.vals = append(d.vals, value)
	return nil
}

// Put is Set for a string key.
func (d *Dict) Put(key string, value Value) {
	if err := d.Set(key, value); err != nil {
		panic("jinja: a string key cannot be refused: " + err.Error())
	}
}

// Get finds the value of a key.
func (d *Dict) Get(key Value) (Value, bool) {
	h, ok := hashKey(key)
	if !ok {
		return nil, false
	}
	i, ok := d.index[h]
	if !ok {
		return nil, false
	}
	return d.vals[i], true
}

// Len is the number of entries.
func (d *Dict) Len() int { return len(d.keys) }

// At gives the i-th entry in order.
func (d *Dict) At(i int) (key, value Value) { return d.keys[i], d.vals[i] }

// Clone copies the dictionary, not its values.
func (d *Dict) Clone() *Dict {
	out := NewDict()
	for i, k := range d.keys {
		if err := out.Set(k, d.vals[i]); err != nil {
			panic("jinja: a key of a dictionary cannot be refused: " + err.Error())
		}
	}
	return out
}

// pairs lists the entries as tuples.
func (d *Dict) pairs() List {
	out := make(List, len(d.keys))
	for i, k := range d.keys {
		out[i] = Tuple{k, d.vals[i]}
	}
	return out
}
