package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// keyNameKey is where the name of the key that was used is kept in echo's context.
const keyNameKey = "flashlane.key"

// openPaths need no key, and neither does the page (isPage): probes must work without a secret, and they tell nothing but up or down.
var openPaths = map[string]bool{"/livez": true, "/readyz": true}

// withKey asks for an API key on every route, known or not, except openPaths.
func withKey(keys *Keys) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if openPaths[c.Request().URL.Path] || isPage(c.Request()) {
				return next(c)
			}
			presented := presentedKey(c.Request())
			name, ok := keys.Match(presented)
			if !ok {
				c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="flashlane"`)
				if presented == "" {
					return refuse(http.StatusUnauthorized, typeAuth, "missing_api_key", "", "an API key is needed: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'")
				}
				return refuse(http.StatusUnauthorized, typeAuth, "invalid_api_key", "", "the API key is not known")
			}
			c.Set(keyNameKey, name)
			return next(c)
		}
	}
}

// localOnly refuses requests whose Host or Origin is not this machine. Without a key it is all that stands between a web
// page whose name was rebound to 127.0.0.1 and the server.
// Pages of the origins given are let through.
func localOnly(origins []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !isLocalHost(c.Request().Host) {
				return refuse(http.StatusForbidden, typeDenied, "foreign_host", "", "the Host header names another machine; without an API key only localhost, 127.0.0.0/8 and [::1] are served")
			}
			for _, origin := range c.Request().Header.Values("Origin") {
				if !isLocalOrigin(origin) && !allows(origins, origin) {
					return refuse(http.StatusForbidden, typeDenied, "foreign_origin", "", "the Origin header names a page of another machine; without an API key only pages of this machine are served")
				}
			}
			return next(c)
		}
	}
}

// loopbackPeer refuses callers on other machines, key or not: test hooks are for the operator's own shell.
func loopbackPeer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isLoopbackPeer(c.Request().RemoteAddr) {
			return refuse(http.StatusForbidden, typeDenied, "loopback_only", "", "this route is for callers on this machine only")
		}
		return next(c)
	}
}
