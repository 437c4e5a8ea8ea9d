package server

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flashlane/flashlane/actors/intake"
)

// Errors of Engine methods that have an HTTP status of their own.
var (
	ErrUnknownActor = errors.New("server: no such actor") // Fault: 404
	ErrUnknownLane  = errors.New("server: no such lane")  // SetLane: 404; the wrapping message lists the valid ones
	ErrLaneDeclined = errors.New("server: lane declined") // SetLane: 409; the pack or machine lacks what the lane needs
)

// Engine is the actor system as the server sees it. Every method is safe for concurrent use; Status, Actors, Lanes,
// LaneDefaults, Ready and Collectors answer at once, whatever the engine is doing.
type Engine interface {
	// Submit hands over a request and never blocks. The first event is Accepted or Failed; a queued request has no event
	// until its turn. ctx carries values only: the server calls Cancel when the client is gone.
	Submit(ctx context.Context, r *intake.Request) *intake.Output
	// Cancel ends a request within one round and says why in the log; false: no live request has that id.
	Cancel(id, reason string) bool
	// Status is an atomic snapshot.
	Status() Status
	// Actors lists the supervision tree, parents before children.
	Actors() []ActorInfo
	// Fault makes an actor panic at its next message; ErrUnknownActor (wrapped) if there is none of that name.
	Fault(name string) error
	// Events is closed when ctx ends or the engine stops. A reader too slow loses events; the next one says how many.
	Events(ctx context.Context) <-chan Event
	// Lanes lists all lanes in their fixed order.
	Lanes() []Lane
	// SetLane sets the wanted state; the Lane returned shows whether it is in force yet. ErrUnknownLane or
	// ErrLaneDeclined (wrapped).
	SetLane(ctx context.Context, name string, on bool) (Lane, error)
	// LaneDefaults is the aux_lane_defaults object of /health (design, section 5), ready to marshal.
	LaneDefaults() any
	// Ready is nil when requests are served, else why not.
	Ready() error
	// Collectors are the engine's metrics; Collect must not wait for the engine.
	Collectors() []prometheus.Collector
}

// Status is the engine in figures.
type Status struct {
	Active     int     `json:"active"`      // requests being worked on
	Queued     int     `json:"queued"`      // accepted, waiting for a slot
	Slots      int     `json:"slots"`       // most active requests
	QueueLimit int     `json:"queue_limit"` // most queued requests
	Tokens     uint64  `json:"tokens"`      // generated tokens committed since start
	Prompt     uint64  `json:"prompt_tokens"`
	Rounds     uint64  `json:"rounds"`
	Memory     Memory  `json:"memory"`
	Disk       any     `json:"disk_cache,omitempty"` // counters and sizes of the disk tier; absent without one
	Rows       *Rows   `json:"ngram,omitempty"`      // nil: the pack has no n-gram table
	DeviceKind string  `json:"device_kind"`          // device, kernel set and precision (design, section 1)
	Precision  string  `json:"precision"`            // exact or fast: how products are done
	Depth      int     `json:"depth"`                // drafts per round by default; 0 when the pack has no head
	DepthNote  string  `json:"depth_note,omitempty"`
	Acceptance string  `json:"acceptance"` // coupled or residual
	Pack       string  `json:"pack"`
	Print      string  `json:"fingerprint"`
	Uptime     float64 `json:"uptime_s"`
}

// Rows is where n-gram rows are read from, and what reading them took on the lane and on the stock path.
type Rows struct {
	Placement string  `json:"placement"` // memory, mmap or file
	Tables    int     `json:"tables"`
	Rows      int64   `json:"rows"`  // of the tables
	Bytes     int64   `json:"bytes"` // of the tables
	Hits      int64   `json:"hits"`  // rows found in the row cache
	Misses    int64   `json:"misses"`
	Direct    int64   `json:"direct"`     // rows read past the row cache, as long prompts do
	Read      int64   `json:"read_bytes"` // from the tables
	Cold      int64   `json:"cold_reads"` // reads that had to wait for a disk, where the system can tell
	Errors    int64   `json:"errors"`
	Wait      float64 `json:"read_ms"` // time spent reading
	Limit     int64   `json:"cache_limit"`
	Trouble   string  `json:"trouble,omitempty"` // why a table cannot be read, and what to do; "": it can
}

// Memory is in bytes; a zero limit is no limit.
type Memory struct {
	Weights   int64 `json:"weights"`   // device memory of the pack and its passes
	Sequences int64 `json:"sequences"` // promised to live requests, at their largest
	Snapshots int64 `json:"snapshots"` // of prompt beginnings
	Buffers   int64 `json:"buffers"`   // device memory beyond weights and snapshots: live requests, and what is kept for the next
	Program   int64 `json:"program"`   // what is not device memory: Go's heap, the row cache in it, and pages of files
	RowCache  int64 `json:"row_cache"` // PLE rows kept
	Limit     int64 `json:"limit"`
	Resident  int64 `json:"resident,omitempty"` // of the process, 0 when unknown
}

// ActorInfo is one actor of the tree.
type ActorInfo struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Restarts int    `json:"restarts"`
	State    string `json:"state"`
}

// Lane is one lane with its live engagement.
type Lane struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"` // wanted
	Status   string `json:"status"`  // installed, off, declined, switching
	Reason   string `json:"reason,omitempty"`
	Windows  uint64 `json:"windows"`
	Hits     uint64 `json:"hits"`
	Misses   uint64 `json:"misses"`
	Bytes    uint64 `json:"bytes"`
	Waits    uint64 `json:"waits"`
	FailOver uint64 `json:"fail_over"`
	Switches uint64 `json:"switches"`

	WaitMS float64 `json:"wait_ms"` // passes waited so long for the lane
}

// Event is one line of /v1/events.
type Event struct {
	Type string    `json:"type"` // supervision, lane, round, request ...
	Time time.Time `json:"time"`
	Data any       `json:"data"`
}
