package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/labstack/echo/v4"
)

// requestIDKey is where the middleware keeps the id in echo's context.
const requestIDKey = "flashlane.request"

// newID returns prefix and 24 random hex digits. crypto/rand.Read does not fail (it ends the process).
func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// setRequestID gives the request its id in context and answer.
func setRequestID(c echo.Context, id string) {
	c.Set(requestIDKey, id)
	c.Response().Header().Set(echo.HeaderXRequestID, id)
	if isAnthropic(c.Request()) {
		c.Response().Header().Set(anthropicRequestID, id)
	}
}

// requestID is the id of the request, "" before the middleware ran.
func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// withRequestID gives every request an id of our own: a client's X-Request-Id could repeat, and Cancel goes by it.
func withRequestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		setRequestID(c, newID("req-"))
		return next(c)
	}
}

// callID names the i-th tool call of a request: stable for the request, unlike for any other.
func callID(request string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", request, i))
	return "call_" + hex.EncodeToString(sum[:12])
}

// freshSeed draws 53 random bits: a seed that JavaScript clients can send back without rounding it.
func freshSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	var seed uint64
	for _, c := range b {
		seed = seed<<8 | uint64(c)
	}
	return seed >> 11
}
