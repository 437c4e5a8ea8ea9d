package conform

import (
	"fmt"
	"sync"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// testStreams runs cases on several streams of one device at once: each must give the bits it gives alone.
func testStreams(t *testing.T, dev metal.Device) {
	var work []opCase
	for _, c := range cases() {
		switch c.op + "/" + c.name {
		case "Norm/nanoprefill", "Linear/q8-g64-r20-n160-k128", "Delta/prefill", "Attend/nano-prefill", "Select/long", "Experts/q4-g32-r33-h256-i96-e16-k4",
			"Conv/prefill", "SiluMul/prefill":
			work = append(work, c)
		}
	}
	if len(work) != 8 {
		t.Fatalf("got %d of the 8 cases by name: a case was renamed", len(work))
	}
	var envs []*env
	var calls []*call
	var want [][]uint32
	for _, c := range work {
		e := newEnv(t, dev, c, false)
		k := c.make(e)
		k.run(e.st, 0, k.rows)
		want = append(want, k.outs[0].bits())
		envs, calls = append(envs, e), append(calls, k)
	}
	var wg sync.WaitGroup
	for i, k := range calls {
		wg.Go(func() {
			for range 8 {
				for _, o := range k.outs {
					o.reset()
				}
				k.run(envs[i].st, 0, k.rows)
			}
		})
	}
	wg.Wait()
	for i, c := range work {
		envs[i].same(fmt.Sprintf("%s on its own stream beside 7 others, against alone", c.op), calls[i].outs[0].bits(), want[i])
		envs[i].free()
	}
}
