package server

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/sse"
)

// events streams what the engine publishes until the client leaves or the server ends.
func (s *Server) events(c echo.Context) error {
	ctx := c.Request().Context()
	feed := s.engine.Events(ctx)
	w := sse.NewWriter(c.Response(), s.opts.WriteTimeout)
	if w.Start() != nil {
		return nil
	}
	quiet := time.NewTimer(s.opts.KeepAlive)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.draining: // an endless stream must not hold the drain
			return nil
		case e, ok := <-feed:
			if !ok {
				return nil
			}
			w.Event(e.Type, e)
		case <-quiet.C:
			w.Comment("keep-alive")
		}
		quiet.Reset(s.opts.KeepAlive)
		if w.Flush() != nil {
			return nil
		}
	}
}
