package client

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Health is what GET /health says that measurements need.
type Health struct {
	Ready      bool   `json:"ready"`
	Reason     string `json:"reason"`
	Version    string `json:"version"`
	Model      string `json:"model"`
	Context    int    `json:"context_length"`
	Active     int    `json:"active"`
	Queued     int    `json:"queued"`
	Slots      int    `json:"slots"`
	QueueLimit int    `json:"queue_limit"`
	Depth      int    `json:"depth"`
	Acceptance string `json:"acceptance"`
	DeviceKind string `json:"device_kind"`
	Precision  string `json:"precision"`
	Print      string `json:"fingerprint"`
	Memory     struct {
		Weights  int64 `json:"weights"`
		Resident int64 `json:"resident"`
	} `json:"memory"`
}

// Health asks for it.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.call(ctx, http.MethodGet, "/health", nil, &h)
	return h, err
}

// Idle waits until nothing is being worked on or queued. A server that is busy with others' requests for longer than limit
// is an error: what is measured would not be what it seems.
func (c *Client) Idle(ctx context.Context, limit time.Duration) error {
	end := time.Now().Add(limit)
	for {
		h, err := c.Health(ctx)
		switch {
		case err != nil:
			return err
		case !h.Ready:
			return fmt.Errorf("client: the server is not ready: %s", h.Reason)
		case h.Active == 0 && h.Queued == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("client: the server still has %d active and %d queued requests after %v: let nobody else use it while it is measured", h.Active, h.Queued, limit)
		}
		if err := Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// Pause waits for d, or returns why ctx ended.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Lane is one lane and what it did so far.
type Lane struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Windows  int64  `json:"windows"`
	Hits     int64  `json:"hits"`
	Misses   int64  `json:"misses"`
	Bytes    int64  `json:"bytes"`
	Waits    int64  `json:"waits"`
	FailOver int64  `json:"fail_over"`

	WaitMS float64 `json:"wait_ms"` // of passes, for the lane
}

// Lanes lists them by name.
func (c *Client) Lanes(ctx context.Context) (map[string]Lane, error) {
	var list struct {
		Lanes []Lane `json:"lanes"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/lanes", nil, &list); err != nil {
		return nil, err
	}
	out := map[string]Lane{}
	for _, l := range list.Lanes {
		out[l.Name] = l
	}
	return out, nil
}

// SetLane switches a lane and waits until that is in force.
func (c *Client) SetLane(ctx context.Context, name string, on bool) error {
	var l Lane
	if err := c.call(ctx, http.MethodPut, "/v1/lanes/"+url.PathEscape(name), map[string]bool{"enabled": on}, &l); err != nil {
		return err
	}
	want := "off"
	if on {
		want = "installed"
	}
	for range 1000 {
		all, err := c.Lanes(ctx)
		if err != nil {
			return err
		}
		l, ok := all[name]
		switch {
		case !ok:
			return fmt.Errorf("client: the server lists no lane %s", name)
		case l.Enabled == on && l.Status == want:
			return nil
		case l.Status == "declined":
			return fmt.Errorf("client: lane %s declined: %s", name, l.Reason)
		}
		if err := Pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("client: lane %s did not come to status %q", name, want)
}

// Restarts is how often actors were restarted since the server began.
func (c *Client) Restarts(ctx context.Context) (n int, err error) {
	var list struct {
		Actors []struct {
			Restarts int `json:"restarts"`
		} `json:"actors"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/actors", nil, &list); err != nil {
		return 0, err
	}
	for _, a := range list.Actors {
		n += a.Restarts
	}
	return n, nil
}

// Count is the length of a chat prompt with one user message in tokens, the template's own included.
func (c *Client) Count(ctx context.Context, text string, noThink bool) (int, error) {
	thinking := "adaptive"
	if noThink {
		thinking = "disabled"
	}
	var n struct {
		Tokens int `json:"input_tokens"`
	}
	err := c.call(ctx, http.MethodPost, "/v1/messages/count_tokens", map[string]any{
		"messages": []map[string]string{{"role": "user", "content": text}}, "thinking": map[string]string{"type": thinking},
	}, &n)
	return n.Tokens, err
}

// Metric is the sum of a metric over its labels; false if the server has none of that name.
func (c *Client) Metric(ctx context.Context, name string) (sum float64, ok bool, err error) {
	resp, err := c.do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, is := strings.CutPrefix(lines.Text(), name)
		if !is || rest == "" || (rest[0] != ' ' && rest[0] != '{') {
			continue
		}
		at := strings.LastIndexByte(rest, ' ')
		v, err := strconv.ParseFloat(rest[at+1:], 64)
		if err != nil {
			return 0, false, fmt.Errorf("client: metric %s: %w", name, err)
		}
		sum, ok = sum+v, true
	}
	return sum, ok, lines.Err()
}
