package client

import (
	"context"
	"sync"
	"time"
)

// Peak samples the server's resident memory until stop is called, which returns the largest value seen in bytes; 0 when the
// server does not tell. The samples cost the server something, the same for everything that is measured.
func (c *Client) Peak(ctx context.Context, every time.Duration) (stop func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	var peak int64
	var done sync.WaitGroup
	done.Go(func() {
		for {
			if h, err := c.Health(ctx); err == nil {
				peak = max(peak, h.Memory.Resident)
			}
			if Pause(ctx, every) != nil {
				return
			}
		}
	})
	return func() int64 {
		h, err := c.Health(ctx)
		cancel()
		done.Wait()
		if err == nil {
			peak = max(peak, h.Memory.Resident)
		}
		return peak
	}
}
