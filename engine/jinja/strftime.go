package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime formats a time as C's strftime in the C locale; unknown directives are an error. A '-' drops padding (%-d).
func strftime(t time.Time, layout string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 == len(layout) {
			b.WriteByte(layout[i])
			continue
		}
		i++
		bare := layout[i] == '-' && i+1 < len(layout)
		if bare {
			i++
		}
		text, ok := directive(t, layout[i])
		if !ok {
			return "", fail("strftime_now: unsupported directive %%%c", layout[i])
		}
		if bare {
			if cut := strings.TrimLeft(text, "0 "); cut != "" {
				text = cut
			} else {
				text = "0"
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func directive(t time.Time, c byte) (string, bool) {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'B': "January", 'b': "Jan", 'h': "Jan",
		'A': "Monday", 'a': "Mon", 'p': "PM", 'I': "03", 'e': "_2", 'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06",
		'R': "15:04", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'j': "002"}
	if l, ok := layouts[c]; ok {
		return t.Format(l), true
	}
	switch c {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'w':
		return fmt.Sprint(int(t.Weekday())), true
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1), true
	}
	return "", false
}
