// Package web is the page at "/": a chat with the served model and a live panel of the house behind it (lanes, actors,
// acceptance, memory, queue).
//
// The page is plain HTML, one style sheet and ES modules under assets, embedded as they are; there is no build step. It talks to
// the same public routes as any other client and holds no secret, so it may be served without an API key: a visitor types
// the key into the page, which keeps it for the life of the tab and sends it as a Bearer token.
//
// Handler serves "/" and everything under "/ui/". The assets' address has the hash of all assets in it, so that they may
// be cached for ever and never mix between versions; the page itself is always asked for anew. A strict content security
// policy allows scripts, styles and connections of the server's own origin only, no inline script, no eval, no framing,
// and, through Trusted Types, no HTML made from strings.
//
// What the package does not do: it knows neither the engine nor the server's handlers, and it decides nothing.
package web
