package abba

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flashlane/flashlane/bench/client"
)

// Arm is one setting. Arm 0 of a run is the control.
type Arm struct {
	Name  string
	What  string          // in words, for the report
	Lanes map[string]bool // wanted state of lanes; others are left alone
	Tune  func(*client.Ask)
	// Enter makes the server that serves the window, and Leave ends it; nil: the run's own server serves all.
	Enter func(ctx context.Context) (c *client.Client, leave func() error, err error)
}

// LaneArms are the seeds' arms for a list of lanes: control has all of them off, a the first one on, b all of them. With one
// lane a and b are the same setting, which shows what two equal arms differ by. onA and onB, if not nil, choose otherwise.
func LaneArms(lanes, onA, onB []string) ([]Arm, error) {
	if len(lanes) == 0 {
		return nil, fmt.Errorf("abba: no lanes")
	}
	for _, list := range [][]string{lanes, onA, onB} {
		for i, l := range list {
			if slices.Contains(list[:i], l) {
				return nil, fmt.Errorf("abba: lane %q twice among %s: name it once", l, strings.Join(list, ", "))
			}
		}
	}
	if onA == nil {
		onA = lanes[:1]
	}
	if onB == nil {
		onB = lanes
	}
	var arms []Arm
	for _, a := range []struct {
		name string
		on   []string
	}{{"control", nil}, {"a", onA}, {"b", onB}} {
		arm := Arm{Name: a.name, Lanes: map[string]bool{}}
		for _, l := range lanes {
			arm.Lanes[l] = false
		}
		for _, l := range a.on {
			if _, ok := arm.Lanes[l]; !ok {
				return nil, fmt.Errorf("abba: arm %s: lane %q is not among %s", a.name, l, strings.Join(lanes, ", "))
			}
			arm.Lanes[l] = true
		}
		arm.What = "all off"
		if len(a.on) > 0 {
			arm.What = "on: " + strings.Join(a.on, ", ")
		}
		arms = append(arms, arm)
	}
	return arms, nil
}

// lanes lists the arm's lanes in order.
func (a *Arm) lanes() []string { return slices.Sorted(maps.Keys(a.Lanes)) }

// Mirror is the order of windows: the arms 0, 1, ..., n-1 and back. For three arms that is control, a, b, b, a, control.
func Mirror(arms int) []int {
	var order []int
	for i := range arms {
		order = append(order, i)
	}
	for i := range arms {
		order = append(order, arms-1-i)
	}
	return order
}
