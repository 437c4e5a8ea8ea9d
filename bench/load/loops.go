package load

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flashlane/flashlane/bench/busy"
	"github.com/flashlane/flashlane/bench/client"
)

// Run is one finished load.
type Run struct {
	Clients  int     // closed loop, else 0
	Rate     float64 // open loop, else 0
	Wall     time.Duration
	Reused   int       // prompt tokens from the prefix cache, by the server's own counter; -1 if it has none
	Others   float64   // share of the machine's processor time that the server's process did not have, and that was not idle; -1: not known
	Outcomes []Outcome // in the order of the plan
}

// before is what is known of server and machine when a run begins.
type before struct {
	reused  int // the server's counter of prompt tokens from the prefix cache, -1 if it has none
	cpu     float64
	machine busy.Moment
}

func look(ctx context.Context, c *client.Client) (b before, err error) {
	n, ok, err := c.Metric(ctx, "flashlane_prefix_tokens_total")
	if b.reused = int(n); !ok {
		b.reused = -1
	}
	if err == nil {
		b.cpu, _, err = c.Metric(ctx, "process_cpu_seconds_total")
	}
	b.machine = busy.Now()
	return b, err
}

// close notes what has changed since the run began.
func (r *Run) close(ctx context.Context, c *client.Client, b before) error {
	after, err := look(context.WithoutCancel(ctx), c)
	r.Reused, r.Others = -1, -1
	if err != nil {
		return err
	}
	if b.reused >= 0 && after.reused >= 0 {
		r.Reused = after.reused - b.reused
	}
	r.Others = busy.Others(b.machine, after.cpu-b.cpu)
	return nil
}

// Closed works through a plan with so many clients at once.
func Closed(ctx context.Context, c *client.Client, plan []Request, clients int) (*Run, error) {
	if clients < 1 || clients > len(plan) {
		return nil, fmt.Errorf("load: clients: got %d for %d requests, want 1 to as many as there are requests", clients, len(plan))
	}
	r := &Run{Clients: clients, Outcomes: make([]Outcome, len(plan))}
	b, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range clients {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(plan) || ctx.Err() != nil {
					return
				}
				r.Outcomes[i] = ask(ctx, c, &plan[i], time.Now(), nil)
			}
		})
	}
	all.Wait()
	r.Wall = time.Since(begin)
	return r, cmp.Or(context.Cause(ctx), r.close(ctx, c, b))
}

// Open sends every request of a plan when it is due.
func Open(ctx context.Context, c *client.Client, plan []Request, rate float64) (*Run, error) {
	r := &Run{Rate: rate, Outcomes: make([]Outcome, len(plan))}
	b, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	begin := time.Now()
	for i := range plan {
		due := begin.Add(plan[i].Due)
		if err := client.Pause(ctx, time.Until(due)); err != nil {
			break
		}
		all.Go(func() { r.Outcomes[i] = ask(ctx, c, &plan[i], due, nil) })
	}
	all.Wait()
	r.Wall = time.Since(begin)
	return r, cmp.Or(context.Cause(ctx), r.close(ctx, c, b))
}
