package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// ErrOrigin is wrapped when an origin of the options cannot be allowed.
var ErrOrigin = errors.New("server: bad CORS origin")

// anyOrigin allows every page. Credentials (cookies) are never allowed, to nobody: keys travel in headers of their own.
const anyOrigin = "*"

// checkOrigins refuses what is no origin, and any origin at all on a server without keys: every page on the web could
// then use it.
func checkOrigins(origins []string, hasKeys bool) error {
	for _, o := range origins {
		if o == anyOrigin {
			if !hasKeys {
				return fmt.Errorf("%w: %q needs API keys: without them every web page could use this server", ErrOrigin, o)
			}
			continue
		}
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || o != u.Scheme+"://"+u.Host {
			return fmt.Errorf("%w: %q, want scheme://host or scheme://host:port without a path", ErrOrigin, o)
		}
	}
	return nil
}

// allows reports whether an Origin header is one of those listed.
func allows(origins []string, origin string) bool {
	return slices.Contains(origins, anyOrigin) || slices.ContainsFunc(origins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// withCORS tells browsers that the pages listed may read the answers, and answers their preflights, which carry no key.
// Pages that are not listed hear nothing of it.
func withCORS(origins []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if len(origins) == 0 {
			return next
		}
		return func(c echo.Context) error {
			in, out := c.Request().Header, c.Response().Header()
			out.Add(echo.HeaderVary, echo.HeaderOrigin)
			origin := in.Get(echo.HeaderOrigin)
			if origin == "" || !allows(origins, origin) {
				return next(c)
			}
			out.Set(echo.HeaderAccessControlAllowOrigin, origin)
			out.Set(echo.HeaderAccessControlExposeHeaders, "X-Request-Id, Request-Id, Retry-After")
			if c.Request().Method != http.MethodOptions || in.Get(echo.HeaderAccessControlRequestMethod) == "" {
				return next(c)
			}
			out.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
			out.Set(echo.HeaderAccessControlAllowHeaders, headerNames(in.Get(echo.HeaderAccessControlRequestHeaders)))
			out.Set(echo.HeaderAccessControlMaxAge, "600")
			return c.NoContent(http.StatusNoContent)
		}
	}
}

// headerNames is the list of names a preflight asks for, without anything that is no header name: clients send many of
// their own (x-stainless-...), and none does more here than a field of the body.
func headerNames(asked string) string {
	var names []string
	for name := range strings.SplitSeq(asked, ",") {
		name = strings.TrimSpace(name)
		if name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
