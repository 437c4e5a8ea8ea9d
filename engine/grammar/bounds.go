package grammar

// span reads a pair of size keywords. Nothing fits if low comes out above high.
func (c *compiler) span(v *value, low, high string) (uint32, uint32, error) {
	size := func(key string, absent uint32) (uint32, error) {
		f := v.get(key)
		if f == nil {
			return absent, nil
		}
		if f.kind == isNumber {
			d, huge, ok := parseDecimal(f.text)
			if !d.negative && (huge || ok && d.isInteger() && len(d.whole) > 9) {
				if absent == unlimited {
					return unlimited, nil // no document of ours is that long
				}
				return 0, c.fail(ErrLimit, v, key, "%s is beyond any document", f.text)
			}
			if ok && d.isInteger() && !d.negative {
				k := uint32(0)
				for _, digit := range d.whole {
					k = k*10 + uint32(digit-'0')
				}
				return k, nil
			}
		}
		return 0, c.fail(ErrSchema, v, key, "a whole number from 0 on is wanted")
	}
	lo, err := size(low, 0)
	if err != nil {
		return 0, 0, err
	}
	hi, err := size(high, unlimited)
	return lo, hi, err
}

// interval reads the number keywords.
func (c *compiler) interval(v *value, integer bool) (interval, error) {
	r := interval{integer: integer}
	for _, k := range []struct {
		key         string
		lower, open bool
	}{{"minimum", true, false}, {"exclusiveMinimum", true, true}, {"maximum", false, false}, {"exclusiveMaximum", false, true}} {
		f := v.get(k.key)
		if f == nil {
			continue
		}
		if f.kind != isNumber {
			return r, c.fail(ErrSchema, v, k.key, "a number is wanted")
		}
		d, huge, ok := parseDecimal(f.text)
		if !ok {
			if huge && d.negative == k.lower {
				continue // far outside of what is ever written: no bound
			}
			return r, c.fail(ErrLimit, v, k.key, "%s has more than %d digits", f.text, maxDigits)
		}
		if k.lower {
			if r.low == nil || d.cmp(*r.low) > 0 || d.cmp(*r.low) == 0 && k.open {
				r.low, r.openLow = &d, k.open
			}
		} else if r.high == nil || d.cmp(*r.high) < 0 || d.cmp(*r.high) == 0 && k.open {
			r.high, r.openUp = &d, k.open
		}
	}
	return r, nil
}

func (c *compiler) automaton(r interval) *automaton {
	k := r.key()
	a, ok := c.numbers[k]
	if !ok {
		a = newAutomaton(r)
		c.numbers[k] = a
	}
	return a
}
