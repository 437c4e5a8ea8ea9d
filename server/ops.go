package server

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server/body"
)

// engineStatus is Status under a name that can be embedded beside a field called Status.
type engineStatus = Status

// index points at what there is.
func (s *Server) index(c echo.Context) error {
	return s.writeJSON(c, http.StatusOK, map[string]any{
		"name": "flashlane", "version": s.opts.Version, "model": s.model.ID,
		"routes": []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/models",
			"/tokenize", "/detokenize", "/v1/lanes", "/v1/actors", "/v1/events", "/health", "/metrics"},
	})
}

// livez says that the process answers.
func (s *Server) livez(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether a new request would be served. It carries no secret and needs no key, so it tells only yes or no.
func (s *Server) readyz(c echo.Context) error {
	if _, err := s.state(); err != nil {
		return c.String(http.StatusServiceUnavailable, "not ready\n")
	}
	return c.String(http.StatusOK, "ready\n")
}

// state is one word for where the server stands, and why it is not ready.
func (s *Server) state() (string, error) {
	if s.isDraining() {
		return "draining", errShutdown
	}
	if err := s.engine.Ready(); err != nil {
		return "not ready", err
	}
	return "ok", nil
}

// health is always 200 while the process answers; readiness is a field of it and the status of /readyz. It is degraded, and
// ready, while an n-gram table cannot be read: requests whose rows can be are served.
func (s *Server) health(c echo.Context) error {
	state, err := s.state()
	status := s.engine.Status()
	h := struct {
		Status  string `json:"status"`
		Ready   bool   `json:"ready"`
		Reason  string `json:"reason,omitempty"`
		Version string `json:"version,omitempty"`
		Model   string `json:"model"`
		Context int    `json:"context_length"`
		engineStatus
		Exact           bool `json:"exact"` // the text does not depend on the drafter (rule coupled)
		AuxLaneDefaults any  `json:"aux_lane_defaults"`
	}{Status: state, Ready: err == nil, Version: s.opts.Version, Model: s.model.ID, Context: s.model.Context,
		engineStatus: status, Exact: status.Acceptance == verify.Coupled.String(), AuxLaneDefaults: s.engine.LaneDefaults()}
	switch {
	case err != nil:
		h.Reason = err.Error()
	case status.Rows != nil && status.Rows.Trouble != "":
		h.Status, h.Reason = "degraded", status.Rows.Trouble
	}
	return s.writeJSON(c, http.StatusOK, h)
}

// lanes lists the lanes.
func (s *Server) lanes(c echo.Context) error {
	return s.writeJSON(c, http.StatusOK, map[string]any{"lanes": nonNil(s.engine.Lanes())})
}

// setLane switches a lane: 200 with the wanted state, whether or not it is in force yet.
func (s *Server) setLane(c echo.Context) error {
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	on, given := r.Bool("enabled")
	if !given {
		r.Fail("enabled", body.CodeMissing, "is needed: true or false")
	}
	if err := r.Close(); err != nil {
		return err
	}
	lane, err := s.engine.SetLane(c.Request().Context(), c.Param("lane"), on)
	switch {
	case errors.Is(err, ErrUnknownLane):
		return refuse(http.StatusNotFound, typeNotFound, "unknown_lane", "lane", "there is no lane %q; the lanes are %s", c.Param("lane"), s.laneNames())
	case errors.Is(err, ErrLaneDeclined):
		return refuse(http.StatusConflict, typeInvalid, "lane_declined", "lane", "lane %s cannot be switched on: this pack or machine lacks what it needs (see reason in /v1/lanes)", c.Param("lane"))
	case err != nil:
		return err
	}
	return s.writeJSON(c, http.StatusOK, lane)
}

func (s *Server) laneNames() string {
	out := ""
	for _, l := range s.engine.Lanes() {
		if out != "" {
			out += ", "
		}
		out += l.Name
	}
	return out
}

// actors lists the supervision tree.
func (s *Server) actors(c echo.Context) error {
	return s.writeJSON(c, http.StatusOK, map[string]any{"actors": nonNil(s.engine.Actors())})
}

// cancelRequest ends a running or queued request, by our id or by the name that a client with the same key gave it.
func (s *Server) cancelRequest(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return refuse(http.StatusBadRequest, typeInvalid, "invalid_value", "id", "the id in the path: %v", err)
	}
	found := false
	key, _ := c.Get(keyNameKey).(string)
	for _, member := range s.groups.members(alias{key, id}) {
		found = s.engine.Cancel(member, "cancelled over http by "+s.caller(c)) || found
	}
	if !found {
		return refuse(http.StatusNotFound, typeNotFound, "unknown_request", "id", "no live request has the id %q", id)
	}
	return s.writeJSON(c, http.StatusOK, map[string]any{"id": id, "object": "request.cancelled", "cancelled": true})
}

// param is a part of the path in clear. The router takes the path as it was sent if it holds an escaped slash, and else in clear.
func param(c echo.Context, name string) (string, error) {
	if c.Request().URL.RawPath == "" {
		return c.Param(name), nil
	}
	return url.PathUnescape(c.Param(name))
}

// caller says who is asking, for logs.
func (s *Server) caller(c echo.Context) string {
	if key, ok := c.Get(keyNameKey).(string); ok {
		return "key " + key
	}
	return c.Request().RemoteAddr
}

// debugFault makes an actor panic at its next message.
func (s *Server) debugFault(c echo.Context) error {
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	name, given := r.Str("actor")
	if !given || name == "" {
		r.Fail("actor", body.CodeMissing, "is needed: a kind (drafter, stager, verifier, indexer) or a path from /v1/actors")
	}
	if err := r.Close(); err != nil {
		return err
	}
	if err := s.engine.Fault(name); errors.Is(err, ErrUnknownActor) {
		return refuse(http.StatusNotFound, typeNotFound, "unknown_actor", "actor", "there is no actor %q; /v1/actors lists them", name)
	} else if err != nil {
		return err
	}
	return s.writeJSON(c, http.StatusAccepted, map[string]any{"actor": name, "accepted": true})
}

// readObject reads the body as one JSON object.
func (s *Server) readObject(c echo.Context) (*body.Reader, error) {
	v, err := s.readBody(c)
	if err != nil {
		return nil, err
	}
	return body.Read(v, "")
}

// nonNil makes an empty list "[]" on the wire, not "null".
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
