package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/body"
)

// bodyLimits bound a request body beyond its bytes. Tool schemas nest; nothing sensible nests deeper.
var bodyLimits = body.Limits{Depth: 64, Values: 4 << 20}

// writeJSON answers with v. HTML is not escaped: "<" stays "<". A client that does not take the answer within the write
// timeout is given up; the flush makes sure that the deadline covers the bytes.
func (s *Server) writeJSON(c echo.Context, status int, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("server: answer: %w", err)
	}
	rc := http.NewResponseController(c.Response())
	_ = rc.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // recorders in tests have no deadlines
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(buf.Len()))
	err := c.Blob(status, "application/json", buf.Bytes())
	if err == nil {
		err = rc.Flush()
	}
	_ = rc.SetWriteDeadline(time.Time{})
	if err != nil && c.Response().Committed {
		s.log.Debug().Err(err).Str("request", requestID(c)).Msg("client did not take the answer")
		return nil
	}
	return err
}

// readBody reads and parses the request body. The read deadline belongs to the body alone: net/http's ReadTimeout would
// also end long answers, because its background read for disconnects would run into it.
func (s *Server) readBody(c echo.Context) (*body.Value, error) {
	rc := http.NewResponseController(c.Response())
	_ = rc.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout)) // recorders in tests have no deadlines
	data, err := io.ReadAll(c.Request().Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline stays: before it answers, net/http would wait for the rest of the body.
		c.Response().Header().Set("Connection", "close")
		return nil, refuse(http.StatusRequestTimeout, typeInvalid, "body_timeout", "", "the request body did not arrive within %v", s.opts.BodyTimeout)
	}
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, bodyError(err)
	}
	return body.Parse(data, bodyLimits)
}

// bodyError tells a body that is too large from one that broke off.
func bodyError(err error) error {
	if errors.Is(err, errBodies) {
		e := refuse(http.StatusServiceUnavailable, typeServer, "overloaded", "", "%v: try again in a moment", err)
		e.retryAfter = 1
		return e
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return refuse(http.StatusBadRequest, typeInvalid, "body_incomplete", "", "the request body broke off")
}
