package server

import (
	"net/http"
	"net/http/pprof"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/flashlane/flashlane/server/web"
)

// routes builds the echo instance. The order of middleware matters: the id first, so that everything below can name the
// request; observing outside of recovering, so that a panic is counted; security before a byte of the body is read.
func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.handleError
	e.Use(withRequestID, s.observe, s.recover, withCORS(s.opts.CORS))
	if s.opts.Keys != nil {
		e.Use(withKey(s.opts.Keys))
	} else {
		e.Use(localOnly(s.opts.CORS))
	}
	e.Use(s.limitBody)

	e.GET("/", s.home)
	e.HEAD("/", s.home)
	assets := echo.WrapHandler(web.Handler())
	e.GET(web.Prefix+"*", assets)
	e.HEAD(web.Prefix+"*", assets)
	for path, h := range map[string]echo.HandlerFunc{"/livez": s.livez, "/readyz": s.readyz, "/health": s.health} {
		e.GET(path, h)
		e.HEAD(path, h) // what probes ask
	}
	e.GET("/metrics", echo.WrapHandler(s.metrics.handler()))

	limited := newQuotas(s.opts.KeyRate, s.opts.KeyConcurrent).limited
	e.POST("/v1/chat/completions", s.chatCompletions, limited)
	e.POST("/v1/completions", s.completions, limited)
	e.POST("/v1/messages", s.anthropicMessages, limited)
	e.POST("/v1/messages/count_tokens", s.countTokens)
	e.POST("/v1/responses", s.responses, limited)
	e.POST("/tokenize", s.tokenize)
	e.POST("/detokenize", s.detokenize)
	e.GET("/v1/models", s.models)
	e.GET("/v1/models/*", s.oneModel)
	e.DELETE("/v1/requests/:id", s.cancelRequest)

	e.GET("/v1/lanes", s.lanes)
	e.PUT("/v1/lanes/:lane", s.setLane)
	e.GET("/v1/actors", s.actors)
	e.GET("/v1/events", s.events)

	if s.opts.DebugFaults {
		e.POST("/debug/fault", s.debugFault, loopbackPeer)
	}
	if s.opts.Pprof {
		for path, h := range map[string]http.HandlerFunc{
			"/debug/pprof/*":       pprof.Index,
			"/debug/pprof/cmdline": pprof.Cmdline,
			"/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol":  pprof.Symbol,
			"/debug/pprof/trace":   pprof.Trace,
		} {
			e.GET(path, echo.WrapHandler(h), loopbackPeer)
		}
	}
	return e
}

// recover turns a panic of a handler into a 500 that names the request; the stack goes to the log only.
func (s *Server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableStackAll: true,
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			s.log.Error().Err(err).Str("request", requestID(c)).Str("route", c.Path()).Bytes("stack", stack).Msg("panic in an http handler")
			return refuse(http.StatusInternalServerError, typeServer, "internal_error", "", "request %s met an internal error", requestID(c))
		},
	})(next)
}

// limitBody bounds what a handler can read of the body, and what all of them hold of theirs.
func (s *Server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > s.opts.BodyLimit {
			return &http.MaxBytesError{Limit: s.opts.BodyLimit}
		}
		r.Body = http.MaxBytesReader(c.Response(), r.Body, s.opts.BodyLimit)
		s.bodies.count(c)
		defer s.bodies.letGo(c)
		return next(c)
	}
}
