package modeltest

import (
	"math"
	"testing"
	"time"
)

const turn = 8

// ByTurns runs two ways of doing the same by turns and reports the fastest run of each, in microseconds, and how many times
// quicker the second is. Other work on the machine only ever adds time, and comes to both alike. A turn is several runs, as the first
// one has to bring back to the caches what the other way has pushed out.
func ByTurns(b *testing.B, names [2]string, ways [2]func()) {
	b.Helper()
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for b.Loop() {
		for i, way := range ways {
			for range turn {
				start := time.Now()
				way()
				best[i] = min(best[i], time.Since(start))
			}
		}
	}
	for i, name := range names {
		b.ReportMetric(float64(best[i].Nanoseconds())/1e3, name+"-us")
	}
	b.ReportMetric(float64(best[0])/float64(best[1]), "times")
}
