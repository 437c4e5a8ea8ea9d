package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/web"
)

// wantsJSON reports whether a client asks for JSON and not for a page.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get(echo.HeaderAccept)
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// isPage reports whether a request is for the page or its assets, which hold no secret and are served without a key: the
// visitor types it in there.
func isPage(r *http.Request) bool {
	return web.Open(r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead) && !wantsJSON(r)
}

// home is GET /: the page, or for clients that ask for JSON what there is.
func (s *Server) home(c echo.Context) error {
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
	if wantsJSON(c.Request()) {
		return s.index(c)
	}
	web.Handler().ServeHTTP(c.Response(), c.Request())
	return nil
}
