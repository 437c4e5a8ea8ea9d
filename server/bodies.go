package server

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// bodies bounds the memory of all request bodies that are being read and understood at one time: each is bounded by
// itself (limitBody), but many large ones at once would pass the process's limit. It is safe for concurrent use.
type bodies struct {
	limit int64 // bytes as they came over the wire; 0: no limit
	held  atomic.Int64
}

// smallBody is what of every body is not counted: ordinary requests must go through whatever others send.
const smallBody = 16 << 10

// bodyCost is how many bytes a byte of a body may come to take while it is understood: a digit of an array of numbers becomes
// a parsed value, a letter of one endless word a symbol of the tokenizer with its place in two lists and a heap.
const bodyCost = 48

// countedBody is a body whose large part is on the books.
type countedBody struct {
	io.ReadCloser
	from *bodies
	read int64
	held int64
}

// bodyKey is where a request's countedBody is in its echo context.
const bodyKey = "flashlane.body"

// count puts a request's body on the books.
func (b *bodies) count(c echo.Context) {
	r := c.Request()
	if b.limit == 0 || r.Body == nil || r.Body == http.NoBody {
		return
	}
	body := &countedBody{ReadCloser: r.Body, from: b}
	r.Body = body
	c.Set(bodyKey, body)
}

// letGo takes a request's body off the books, once it has become a job or an error.
func (b *bodies) letGo(c echo.Context) {
	if body, ok := c.Get(bodyKey).(*countedBody); ok {
		b.held.Add(-body.held)
		body.held = 0
	}
}

// Read reads on while there is room.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if more := b.read - smallBody - b.held; more > 0 {
		b.held += more
		if b.from.held.Add(more) > b.from.limit {
			return n, errBodies
		}
	}
	return n, err
}

// errBodies is why a body was not read to its end: there is no room for it just now.
var errBodies = errors.New("too many large request bodies are being read at once")
