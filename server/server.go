package server

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"
)

// errShutdown is the cause with which requests are cancelled that outlast the drain.
var errShutdown = errors.New("server: shutting down")

// Server holds the routes. It serves once: after Serve has returned it stays drained.
type Server struct {
	opts    Options
	engine  Engine
	model   *Model
	log     zerolog.Logger
	echo    *echo.Echo
	metrics *httpMetrics
	groups  groups
	bodies  bodies
	pace    pace

	patterns  map[string]bool // the routes as registered, for labels
	drainOnce sync.Once
	draining  chan struct{} // closed when the end was asked for
}

// New builds a server for one model. It refuses an open Listen address without keys (ErrOpenBind) and a model that
// cannot be served.
func New(o Options, e Engine, m *Model) (*Server, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if o.Listen != "" {
		if err := CheckListen(o.Listen, o.Keys != nil); err != nil {
			return nil, err
		}
	}
	if err := checkOrigins(o.CORS, o.Keys != nil); err != nil {
		return nil, err
	}
	if o.KeyRate < 0 || o.KeyConcurrent < 0 || (o.KeyRate+o.KeyConcurrent > 0 && o.Keys == nil) {
		return nil, fmt.Errorf("server: limits per key of %d a minute and %d at once: they need keys, and numbers from 0", o.KeyRate, o.KeyConcurrent)
	}
	s := &Server{opts: o.withDefaults(), engine: e, model: m, log: o.Log, draining: make(chan struct{})}
	s.bodies.limit = s.opts.BodyMemory / bodyCost
	var err error
	if s.metrics, err = newHTTPMetrics(e.Collectors()); err != nil {
		return nil, err
	}
	s.echo = s.routes()
	s.patterns = map[string]bool{}
	for _, r := range s.echo.Routes() {
		s.patterns[r.Path] = true
	}
	return s, nil
}

// Handler is the whole server without a listener, for tests and embedding.
func (s *Server) Handler() http.Handler { return s.echo }

// Listen opens the address of the options. Without keys it checks what the name resolved to, too.
func (s *Server) Listen() (net.Listener, error) {
	if err := CheckListen(s.opts.Listen, s.opts.Keys != nil); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", s.opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && s.opts.Keys == nil && !tcp.IP.IsLoopback() {
		_ = ln.Close()
		return nil, fmt.Errorf("%w: %q resolved to %v", ErrOpenBind, s.opts.Listen, tcp.IP)
	}
	return ln, nil
}

// Run listens and serves until ctx ends; see Serve.
func (s *Server) Run(ctx context.Context) error {
	ln, err := s.Listen()
	if err != nil {
		return err
	}
	return s.Serve(ctx, ln)
}

// Serve serves on ln until ctx ends. Then new work is refused, /readyz answers 503, running answers go on for at most
// Options.Drain, what is left is cancelled and told so, and Serve returns nil. An error means that serving itself failed.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, cancel := context.WithCancelCause(context.Background())
	defer cancel(errShutdown)
	hs := &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: s.opts.HeaderTimeout,
		IdleTimeout:       s.opts.IdleTimeout,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          stdlog.New(logLines{s.log}, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	select {
	case err := <-served:
		s.drain()
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	s.drain()
	s.log.Info().Dur("limit", s.opts.Drain).Msg("draining: no new requests, running answers go on")
	deadline := time.Now().Add(s.opts.Drain)
	s.awaitIdle(deadline)
	if !shutdown(hs, max(time.Until(deadline), s.opts.Grace)) {
		s.log.Warn().Msg("drain limit reached: running answers are cancelled")
		cancel(errShutdown)
		if !shutdown(hs, s.opts.Grace) {
			_ = hs.Close()
		}
	}
	<-served
	return nil
}

// awaitIdle waits until no answer is being given, or deadline. The listener stays open meanwhile, so that /readyz can say
// that the server is going away; new work is refused.
func (s *Server) awaitIdle(deadline time.Time) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		if s.groups.count() == 0 {
			return
		}
		<-tick.C
	}
}

// shutdown reports whether every connection ended within the limit.
func shutdown(hs *http.Server, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return hs.Shutdown(ctx) == nil
}

// drain makes the server refuse new work.
func (s *Server) drain() { s.drainOnce.Do(func() { close(s.draining) }) }

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// logLines takes net/http's own complaints (TLS bytes on a plain port, headers too slow) into the log.
type logLines struct{ log zerolog.Logger }

// Write implements io.Writer.
func (l logLines) Write(p []byte) (int, error) {
	l.log.Debug().Str("lib", "http").Msg(string(p))
	return len(p), nil
}
