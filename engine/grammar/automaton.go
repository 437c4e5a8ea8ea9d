package grammar

// automaton reads the spelling of a number. State 0 is the start. Every state leads to an accepting one.
type automaton struct {
	next   [][symbols]int16 // -1: no way
	accept []bool
}

const symbols = 14 // 0 to 9, '-', '.', 'e', '+'

// symbol returns b's column, -1 if no number has b. E is e.
func symbol(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b == '-':
		return 10
	case b == '.':
		return 11
	case b == 'e' || b == 'E':
		return 12
	case b == '+':
		return 13
	}
	return -1
}

// step returns the state after b, -1 if there is none.
func (a *automaton) step(state uint32, b byte) int {
	if c := symbol(b); c >= 0 {
		return int(a.next[state][c])
	}
	return -1
}

// build explores the spots, drops those that lead nowhere and numbers the rest.
func (b *builder) build() *automaton {
	spots := []spot{{}}
	index := map[spot]int{{}: 0}
	var next [][symbols]int
	back := [][]int{nil}
	for i := 0; i < len(spots); i++ {
		var row [symbols]int
		for c := range symbols {
			row[c] = -1
			to, ok := b.move(spots[i], c)
			if !ok {
				continue
			}
			j, known := index[to]
			if !known {
				j = len(spots)
				index[to] = j
				spots, back = append(spots, to), append(back, nil)
			}
			row[c] = j
			back[j] = append(back[j], i)
		}
		next = append(next, row)
	}
	live := make([]bool, len(spots))
	var todo []int
	for i, s := range spots {
		if b.accepts(s) {
			live[i], todo = true, append(todo, i)
		}
	}
	accept := append([]bool(nil), live...)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range back[i] {
			if !live[j] {
				live[j], todo = true, append(todo, j)
			}
		}
	}
	if !live[0] {
		return nil
	}
	number := make([]int16, len(spots))
	n := int16(0)
	for i := range spots {
		number[i] = -1
		if live[i] {
			number[i] = n
			n++
		}
	}
	a := &automaton{}
	for i := range spots {
		if !live[i] {
			continue
		}
		var row [symbols]int16
		for c, j := range next[i] {
			row[c] = -1
			if j >= 0 {
				row[c] = number[j]
			}
		}
		a.next, a.accept = append(a.next, row), append(a.accept, accept[i])
	}
	return a
}
