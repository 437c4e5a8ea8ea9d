package server

import (
	"time"

	"github.com/rs/zerolog"
)

// Options are the server's settings. Zero values mean the defaults named here.
type Options struct {
	Listen  string // host:port
	Keys    *Keys  // nil: no key is needed, and only loopback may be listened on
	Version string // shown in /health
	Log     zerolog.Logger

	KeyRate       int      // generations that a key may begin a minute; 0: no limit
	KeyConcurrent int      // generations that a key may have at work; 0: no limit
	CORS          []string // origins whose pages may read answers, "*" for all of them (needs Keys); none: CORS is off

	DebugFaults bool // POST /debug/fault, for callers on this machine
	Pprof       bool // /debug/pprof, for callers on this machine

	BodyMemory    int64         // bytes that bodies may take while they are read and understood, all together; 0: no limit
	BodyLimit     int64         // bytes of a request body; 32 MiB, or what BodyMemory has room for
	HeaderTimeout time.Duration // for a request's header to arrive; 10 s
	BodyTimeout   time.Duration // for its body; 60 s
	IdleTimeout   time.Duration // of a connection between requests; 120 s
	WriteTimeout  time.Duration // for one write to a client that reads slowly or not; 30 s
	Stall         time.Duration // without any progress of an admitted request, after which it is given up; 10 min
	KeepAlive     time.Duration // silence after which a stream gets a comment; 10 s
	Drain         time.Duration // how long running answers may go on after the end was asked for; 30 s
	Grace         time.Duration // for cancelled answers to say so; 5 s
}

func (o Options) withDefaults() Options {
	if o.BodyLimit <= 0 {
		o.BodyLimit = 32 << 20
	}
	if o.BodyMemory > 0 {
		o.BodyLimit = min(o.BodyLimit, o.BodyMemory/bodyCost)
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.HeaderTimeout, 10 * time.Second},
		{&o.BodyTimeout, 60 * time.Second},
		{&o.IdleTimeout, 120 * time.Second},
		{&o.WriteTimeout, 30 * time.Second},
		{&o.Stall, 10 * time.Minute},
		{&o.KeepAlive, 10 * time.Second},
		{&o.Drain, 30 * time.Second},
		{&o.Grace, 5 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}
