package server

import (
	"time"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/server/web"
)

// quietRoutes are polled by machines; their access lines are for debugging only.
var quietRoutes = map[string]bool{"/livez": true, "/readyz": true, "/health": true, "/metrics": true, "/": true,
	"/v1/lanes": true, "/v1/actors": true, web.Prefix + "*": true}

// observe counts, times and logs every request. It writes the error answer itself, so that status and size are known.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begin := time.Now()
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		if err := next(c); err != nil {
			c.Error(err)
		}
		took := time.Since(begin)
		status := c.Response().Status
		route := s.pattern(c.Path())
		s.metrics.observe(c.Request().Method, route, status, took)
		level := zerolog.InfoLevel
		if quietRoutes[route] {
			level = zerolog.DebugLevel
		}
		line := s.log.WithLevel(level).Str("request", requestID(c)).Str("method", c.Request().Method).Str("path", c.Request().URL.Path).
			Int("status", status).Dur("took", took).Int64("bytes", c.Response().Size).Str("peer", c.Request().RemoteAddr)
		if key, ok := c.Get(keyNameKey).(string); ok {
			line = line.Str("key", key)
		}
		line.Msg("http")
		return nil
	}
}

// pattern is the route as it was registered. For paths that no route takes echo gives some prefix of one; as labels those
// would be noise.
func (s *Server) pattern(path string) string {
	if s.patterns[path] {
		return path
	}
	return "unknown"
}
