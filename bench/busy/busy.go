package busy

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// Moment is the processor time of all cores since the start, in seconds.
type Moment struct {
	total, used float64
	ok          bool
}

// Now asks the system. Where it does not tell (/proc/stat) nothing is known of the moment.
func Now() Moment {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Moment{}
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	return parse(line)
}

// parse reads the line "cpu user nice system idle iowait irq softirq steal guest guest_nice", in hundredths of a
// second. Time stolen by other guests of the host counts as used: it was not ours. Guest time is part of user time already.
func parse(line string) (m Moment) {
	f := strings.Fields(line)
	if len(f) < 5 || f[0] != "cpu" {
		return Moment{}
	}
	for i, s := range f[1:min(len(f), 9)] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Moment{}
		}
		m.total += n / 100
		if i != 3 && i != 4 { // idle, iowait
			m.used += n / 100
		}
	}
	m.ok = true
	return m
}

// Others is the share of the machine's processor time since then that went elsewhere, own being the seconds that what is
// measured has used; -1 when it is not known.
func Others(then Moment, own float64) float64 {
	now := Now()
	total := now.total - then.total
	if !now.ok || !then.ok || own <= 0 || total <= 0 {
		return -1
	}
	return max(0, now.used-then.used-own) / total
}

// Await waits until a fifth of a second passes in which less than limit of the machine is used, at most for patience.
// What is measured must be idle meanwhile.
func Await(ctx context.Context, limit float64, patience time.Duration) error {
	const look = 200 * time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); {
		then := Now()
		if !then.ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(look):
		}
		now := Now()
		if total := now.total - then.total; total > 0 && (now.used-then.used)/total <= limit {
			return nil
		}
	}
	return nil
}
