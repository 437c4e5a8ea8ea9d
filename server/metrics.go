package server

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// httpMetrics are the server's own figures, in a registry of its own together with the engine's.
type httpMetrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	refusals   *prometheus.CounterVec
	inFlight   prometheus.Gauge
	streams    prometheus.Gauge
	chunks     prometheus.Counter
	keepAlives prometheus.Counter
	left       prometheus.Counter
	firstByte  prometheus.Histogram
}

// newHTTPMetrics registers the server's, the process's and the engine's collectors; a clash of names is an error.
func newHTTPMetrics(engine []prometheus.Collector) (*httpMetrics, error) {
	m := &httpMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flashlane_http_requests_total",
			Help: "HTTP requests answered, by route pattern, method and status."}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "flashlane_http_request_seconds",
			Help:    "Time from a request's header to the end of its answer, by route pattern.",
			Buckets: []float64{.001, .005, .02, .05, .1, .5, 1, 5, 20, 60, 300}}, []string{"route"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flashlane_http_refusals_total",
			Help: "Error answers and mid-stream errors, by status and error code."}, []string{"status", "reason"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "flashlane_http_in_flight", Help: "Requests being answered."}),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "flashlane_http_streams", Help: "Open event streams of answers."}),
		chunks:   prometheus.NewCounter(prometheus.CounterOpts{Name: "flashlane_http_stream_writes_total", Help: "Writes to event streams of answers."}),
		keepAlives: prometheus.NewCounter(prometheus.CounterOpts{Name: "flashlane_http_keep_alives_total",
			Help: "Keep-alive comments sent into silent streams."}),
		left: prometheus.NewCounter(prometheus.CounterOpts{Name: "flashlane_http_clients_left_total",
			Help: "Generations cancelled because their client was gone or did not read."}),
		firstByte: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flashlane_http_first_text_seconds",
			Help:    "Time from a request's submission to its first text on the wire, streams only.",
			Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 120}}),
	}
	all := []prometheus.Collector{m.requests, m.seconds, m.refusals, m.inFlight, m.streams, m.chunks, m.keepAlives, m.left, m.firstByte,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, c := range append(all, engine...) {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("server: metrics: %w", err)
		}
	}
	return m, nil
}

// handler serves the exposition. One broken collector must not take the others' figures away.
func (m *httpMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// observe counts a finished request. The route is the pattern, and methods that no route takes are put together, so that
// clients cannot make labels.
func (m *httpMetrics) observe(method, route string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *httpMetrics) refused(e *apiError) {
	m.refusals.WithLabelValues(strconv.Itoa(e.status), e.code).Inc()
}
