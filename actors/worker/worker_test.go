package worker

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestJobsRunInOrderAndOutliveAPanic(t *testing.T) {
	w := Start(true)
	var got []string
	broken := func(v any, stack []byte) {
		got = append(got, v.(string))
		if !strings.Contains(string(stack), "worker_test") {
			t.Errorf("stack does not name the job's file:\n%s", stack)
		}
	}
	for _, name := range []string{"a", "b", "boom", "c"} {
		w.Do(Job{Run: func() {
			if name == "boom" {
				panic(name)
			}
			got = append(got, name)
		}, Broken: broken})
	}
	w.Stop()
	if want := []string{"a", "b", "boom", "c"}; !slices.Equal(got, want) {
		t.Errorf("order: got %v, want %v", got, want)
	}
	if w.Do(Job{Run: func() { t.Error("ran after Stop") }}) {
		t.Error("Do after Stop: got true, want false")
	}
}
