package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ErrAddress is wrapped by New for addresses that are not of this machine.
var ErrAddress = errors.New("client: not an address of this machine")

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base string
	key  string
	http *http.Client
}

// Options of New.
type Options struct {
	Key         string        // API key, if the server wants one
	Connections int           // to keep open between requests; 0: 16
	Timeout     time.Duration // for a whole answer; 0: none
}

// New checks the address (http, a loopback address or "localhost") and connects to nothing yet.
func New(address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "http" || u.Port() == "" || (u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())) || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%w: got %q, want for instance http://127.0.0.1:8080", ErrAddress, address)
	}
	if o.Connections == 0 {
		o.Connections = 16
	}
	return &Client{base: "http://" + u.Host, key: o.Key, http: &http.Client{Timeout: o.Timeout, Transport: &http.Transport{
		MaxIdleConnsPerHost: o.Connections, DisableCompression: true, // and no proxy
	}}}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer that is no success.
type StatusError struct {
	Status     int
	Code       string // as in the error object
	Message    string
	RetryAfter time.Duration // 0: not told
}

// Error tells status, code and message.
func (e *StatusError) Error() string {
	return fmt.Sprintf("client: status %d %s: %s", e.Status, e.Code, e.Message)
}

type errorBody struct {
	Error *struct {
		Message string `json:"message"`
		Code    string `json:"code"`
		Type    string `json:"type"`
	} `json:"error"`
}

func statusError(resp *http.Response) *StatusError {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	e := &StatusError{Status: resp.StatusCode, Message: strings.TrimSpace(string(raw))}
	var body errorBody
	if json.Unmarshal(raw, &body) == nil && body.Error != nil {
		e.Code, e.Message = body.Error.Code, body.Error.Message
		if e.Code == "" {
			e.Code = body.Error.Type
		}
	}
	if s, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s * float64(time.Second))
	}
	return e
}

// do sends a request with an optional JSON body; the caller closes the answer's body. Any status but 200 is an error.
func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		return nil, statusError(resp)
	}
	return resp, nil
}

// call is do for answers that are one JSON object.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("client: %s %s: %w", method, path, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	return nil
}
