package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/server/body"
)

// Error types of the OpenAI error object.
const (
	typeInvalid  = "invalid_request_error"
	typeAuth     = "authentication_error"
	typeDenied   = "permission_error"
	typeNotFound = "not_found_error"
	typeBusy     = "rate_limit_error"
	typeServer   = "server_error"
	typeCancel   = "request_cancelled"
)

// statusCancelled is what a whole answer gets whose request was cancelled by id (nginx's number; there is no standard one).
const statusCancelled = 499

// apiError is a refusal or failure as clients see it. Nothing of a path or stack may get in here.
type apiError struct {
	status     int
	kind       string
	code       string
	param      string
	message    string
	retryAfter int // seconds, 0: no header
}

// Error implements error.
func (e *apiError) Error() string {
	return fmt.Sprintf("server: %d %s: %s", e.status, e.code, e.message)
}

func refuse(status int, kind, code, param, format string, args ...any) *apiError {
	return &apiError{status: status, kind: kind, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// errorBody is {"error": {...}} in OpenAI's shape; param and code are null when there is nothing to say.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) body() errorBody {
	return errorBody{errorDetail{Message: e.message, Type: e.kind, Param: optional(e.param), Code: optional(e.code)}}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// engineError turns what a request ended with into what its client is told; id names the request.
func engineError(err error, id string) *apiError {
	var memory *accountant.Refusal
	var table *ple.ReadError
	switch {
	case errors.Is(err, intake.ErrBusy):
		e := refuse(http.StatusTooManyRequests, typeBusy, "queue_full", "", "the queue is full; try again in a moment")
		e.retryAfter = 1
		return e
	case errors.Is(err, intake.ErrClosing):
		e := refuse(http.StatusServiceUnavailable, typeServer, "shutting_down", "", "the server is shutting down")
		e.retryAfter = 5
		return e
	case errors.Is(err, intake.ErrTooLong):
		return refuse(http.StatusBadRequest, typeInvalid, "context_length_exceeded", "", "the prompt does not fit the context")
	case errors.As(err, &memory):
		return refuse(http.StatusInsufficientStorage, typeServer, "insufficient_memory", "",
			"request %s may need %d bytes; the limit of %d leaves %d beside what is held for good: shorten the prompt or lower max_tokens",
			id, memory.Need, memory.Limit, max(memory.Room, 0))
	case errors.Is(err, intake.ErrMemory):
		return refuse(http.StatusInsufficientStorage, typeServer, "insufficient_memory", "",
			"there is not enough memory for request %s; shorten the prompt or lower max_tokens", id)
	case errors.Is(err, intake.ErrCancelled):
		return refuse(statusCancelled, typeCancel, "request_cancelled", "", "request %s was cancelled", id)
	case errors.Is(err, intake.ErrTable) && errors.As(err, &table):
		return refuse(http.StatusInternalServerError, typeServer, "ngram_table_unreadable", "",
			"request %s needs rows of the n-gram table %s, which cannot be read; the server's operator has to put its file back (see /health)", id, table.Table)
	case errors.Is(err, intake.ErrCrashed):
		return refuse(http.StatusInternalServerError, typeServer, "request_crashed", "", "request %s crashed the engine repeatedly and was given up", id)
	case errors.Is(err, intake.ErrNumeric):
		return refuse(http.StatusInternalServerError, typeServer, "non_finite", "", "the model gave a NaN or an infinity for request %s", id)
	case errors.Is(err, context.Canceled):
		return refuse(statusCancelled, typeCancel, "request_cancelled", "", "request %s was cancelled", id)
	}
	return refuse(http.StatusInternalServerError, typeServer, "internal_error", "", "request %s ended with an internal error", id)
}

// asAPIError maps every error a handler may return.
func asAPIError(err error, id string) *apiError {
	var api *apiError
	if errors.As(err, &api) {
		return api
	}
	var field *body.Error
	if errors.As(err, &field) {
		return refuse(http.StatusBadRequest, typeInvalid, field.Code, field.Param, "%s", field.Message)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return refuse(http.StatusRequestEntityTooLarge, typeInvalid, "body_too_large", "", "the request body is larger than the %d bytes that the server reads", large.Limit)
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound:
			return refuse(http.StatusNotFound, typeNotFound, "unknown_route", "", "there is no such route")
		case http.StatusMethodNotAllowed:
			return refuse(http.StatusMethodNotAllowed, typeInvalid, "method_not_allowed", "", "this route does not take this method")
		}
		if he.Code >= 400 && he.Code < 500 {
			return refuse(he.Code, typeInvalid, "bad_request", "", "%s", http.StatusText(he.Code))
		}
	}
	return engineError(err, id)
}

// handleError is echo's last resort and our only place that writes an error answer.
func (s *Server) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		return // streams say it themselves
	}
	e := asAPIError(err, requestID(c))
	if e.retryAfter > 0 {
		c.Response().Header().Set("Retry-After", fmt.Sprint(e.retryAfter))
	}
	if e.status == http.StatusInternalServerError {
		s.log.Error().Err(err).Str("request", requestID(c)).Str("route", c.Path()).Msg("http request failed")
	}
	s.metrics.refused(e)
	if isAnthropic(c.Request()) {
		_ = s.writeJSON(c, e.status, e.anthropic(requestID(c)))
		return
	}
	_ = s.writeJSON(c, e.status, e.body()) // it logs what a client did not take; the body always marshals
}
