package actors

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/engine/verify"
)

// collector turns the house's own counters into metrics when they are scraped. It asks no actor.
type collector struct {
	s    *System
	desc map[string]*prometheus.Desc
}

// Collectors are the house's metrics, names starting with flashlane_.
func (s *System) Collectors() []prometheus.Collector {
	c := &collector{s: s, desc: map[string]*prometheus.Desc{}}
	for name, m := range map[string]struct {
		help   string
		labels []string
	}{
		"active_requests":           {"Requests being worked on.", nil},
		"queued_requests":           {"Requests waiting for a slot.", nil},
		"requests_total":            {"Finished requests by outcome.", []string{"outcome"}},
		"rounds_total":              {"Draft-and-verify rounds.", nil},
		"tokens_total":              {"Generated tokens.", nil},
		"prompt_tokens_total":       {"Prompt tokens prefilled.", nil},
		"rebuilds_total":            {"Sequences rebuilt from their ledgers.", nil},
		"round_seconds_total":       {"Time of rounds, from Draft to Committed.", nil},
		"draft_pass_seconds_total":  {"Of the rounds' time, in the drafter's passes.", nil},
		"verify_pass_seconds_total": {"Of the rounds' time, in the verifier's passes, waits included.", nil},
		"verify_passes_total":       {"Passes of the verifier, on all threads or beside another one on half of them.", []string{"threads"}},
		"drafts_total":              {"Drafts verified, by depth.", []string{"depth"}},
		"drafts_judged_total":       {"Drafts whose row was reached, by depth.", []string{"depth"}},
		"drafts_accepted_total":     {"Drafts accepted and emitted, by depth.", []string{"depth"}},
		"batches_total":             {"Draft passes or plain batches, by chosen depth.", []string{"depth"}},
		"drafting_stopped_total":    {"Sequences that stopped drafting after putting off more than a chunk of rows.", nil},
		"lane_enabled":              {"1 while the lane is in force.", []string{"lane"}},
		"lane_windows_total":        {"Planes or pools made off the verify path.", []string{"lane"}},
		"lane_hits_total":           {"Rows found in the row cache; blocks kept from scratch.", []string{"lane"}},
		"lane_misses_total":         {"Rows read from the table; blocks pooled from raw keys.", []string{"lane"}},
		"lane_bytes_total":          {"Bytes read or written for the lane.", []string{"lane"}},
		"lane_waits_total":          {"Passes that had to wait for the lane.", []string{"lane"}},
		"lane_wait_seconds_total":   {"Of the verifier's passes, waiting for planes or banks.", []string{"lane"}},
		"lane_fail_overs_total":     {"Windows made inline because the lane could not.", []string{"lane"}},
		"lane_switches_total":       {"Run-time switches.", []string{"lane"}},
		"actor_messages_total":      {"Messages received, by kind of actor.", []string{"kind"}},
		"actor_busy_seconds_total":  {"Time in Receive, by kind of actor.", []string{"kind"}},
		"actor_restarts_total":      {"Restarts, by kind of actor.", []string{"kind"}},
		"device_loaded_bytes":       {"Device memory of weights and passes.", nil},
		"device_sequences_bytes":    {"Device memory beyond weights and snapshots: live requests, and buffers kept for the next.", nil},
		"row_cache_bytes":           {"N-gram rows held.", nil},
		"row_cache_hits_total":      {"N-gram rows found in the row cache, on the lane and on the stock path.", nil},
		"row_cache_misses_total":    {"N-gram rows read and kept.", nil},
		"row_cache_evictions_total": {"N-gram rows dropped for others.", nil},
		"rows_direct_total":         {"N-gram rows read past the row cache, as long prompts do.", nil},
		"rows_read_bytes_total":     {"Bytes of n-gram rows read from the tables.", nil},
		"rows_cold_reads_total":     {"Reads of n-gram rows that had to wait for a disk, where the system can tell.", nil},
		"rows_read_errors_total":    {"Gathers of n-gram rows that failed.", nil},
		"rows_trouble":              {"1 while an n-gram table cannot be read, else 0; /health says why.", nil},
		"rows_read_seconds_total":   {"Time gathers spent reading n-gram rows.", nil},
		"rows_placement":            {"1 for the place that n-gram rows are read from.", []string{"placement"}},
		"prefix_hits_total":         {"Sequences opened from a snapshot.", nil},
		"prefix_misses_total":       {"Sequences opened without one.", nil},
		"prefix_tokens_total":       {"Tokens that snapshots stood for.", nil},
		"prefix_evictions_total":    {"Snapshots evicted.", nil},
		"prefix_refused_total":      {"Snapshots that did not fit.", nil},
		"prefix_bytes":              {"Memory of snapshots.", nil},
		"disk_saves_total":          {"Snapshots written to the disk tier.", nil},
		"disk_loads_total":          {"Snapshots read from it.", nil},
		"disk_written_bytes_total":  {"Bytes written to it.", nil},
		"disk_read_bytes_total":     {"Bytes read from it.", nil},
		"disk_evictions_total":      {"Snapshots evicted from it.", nil},
		"disk_corrupt_total":        {"Snapshots found spoiled in it, and dropped.", nil},
		"disk_rebuilt_total":        {"Times its file was found spoiled and begun anew.", nil},
		"disk_bytes":                {"Bytes of snapshots in it.", nil},
		"disk_limit_bytes":          {"Most bytes of snapshots in it.", nil},
		"memory_limit_bytes":        {"Most memory the process may hold.", nil},
		"memory_promised_bytes":     {"Memory promised to live requests, at their largest.", nil},
		"memory_program_bytes":      {"What the process holds beside device memory: Go's heap and pages of files.", nil},
	} {
		c.desc[name] = prometheus.NewDesc("flashlane_"+name, m.help, m.labels, nil)
	}
	return []prometheus.Collector{c}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.desc {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType) func(name string, v float64, labels ...string) {
		return func(name string, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(c.desc[name], kind, v, labels...)
		}
	}
	count, gauge := send(prometheus.CounterValue), send(prometheus.GaugeValue)

	st := c.s.Status()
	gauge("active_requests", float64(st.Active))
	gauge("queued_requests", float64(st.Queued))
	for outcome, n := range st.Sums.Requests {
		count("requests_total", float64(n), outcome)
	}
	count("rounds_total", float64(st.Sums.Rounds))
	count("tokens_total", float64(st.Sums.Tokens))
	count("prompt_tokens_total", float64(st.Sums.Prompt))
	count("rebuilds_total", float64(st.Sums.Rebuilds))
	count("round_seconds_total", st.Sums.RoundTime.Seconds())
	count("draft_pass_seconds_total", st.Sums.DraftTime.Seconds())
	count("verify_pass_seconds_total", st.Sums.PassTime.Seconds())
	count("verify_passes_total", float64(st.Passes.Whole), "all")
	count("verify_passes_total", float64(st.Passes.Half), "half")
	for d := range verify.MaxDepth {
		depth := strconv.Itoa(d + 1)
		count("drafts_total", float64(st.Drafts.Drafted[d]), depth)
		count("drafts_judged_total", float64(st.Drafts.Judged[d]), depth)
		count("drafts_accepted_total", float64(st.Drafts.Accepted[d]), depth)
	}
	for d, n := range c.s.policy.Chosen() {
		count("batches_total", float64(n), strconv.Itoa(d))
	}
	count("drafting_stopped_total", float64(c.s.policy.Stopped()))
	for _, l := range c.s.Lanes() {
		on := 0.0
		if l.Enabled {
			on = 1
		}
		gauge("lane_enabled", on, l.Name)
		count("lane_windows_total", float64(l.Windows), l.Name)
		count("lane_hits_total", float64(l.Hits), l.Name)
		count("lane_misses_total", float64(l.Misses), l.Name)
		count("lane_bytes_total", float64(l.Bytes), l.Name)
		count("lane_waits_total", float64(l.Waits), l.Name)
		count("lane_wait_seconds_total", l.Wait.Seconds(), l.Name)
		count("lane_fail_overs_total", float64(l.FailOver), l.Name)
		count("lane_switches_total", float64(l.Switches), l.Name)
	}
	for _, k := range c.s.house.Register.Kinds() {
		count("actor_messages_total", float64(k.Messages), k.Kind)
		count("actor_busy_seconds_total", float64(k.BusyNano)/1e9, k.Kind)
		count("actor_restarts_total", float64(k.Restarts), k.Kind)
	}
	gauge("device_loaded_bytes", float64(st.Loaded))
	gauge("device_sequences_bytes", float64(st.Sequences))
	rows := st.Rows.Cache
	gauge("row_cache_bytes", float64(rows.Held))
	count("row_cache_hits_total", float64(rows.Hits))
	count("row_cache_misses_total", float64(rows.Misses))
	count("row_cache_evictions_total", float64(rows.Evictions))
	count("rows_direct_total", float64(rows.Direct))
	count("rows_read_bytes_total", float64(rows.Bytes))
	count("rows_cold_reads_total", float64(rows.Cold))
	count("rows_read_errors_total", float64(rows.Errors))
	count("rows_read_seconds_total", time.Duration(rows.WaitNanos).Seconds())
	if st.Rows.Tables > 0 {
		trouble := 0.0
		if st.Rows.Trouble != nil {
			trouble = 1
		}
		gauge("rows_trouble", trouble)
		gauge("rows_placement", 1, st.Rows.Placement.String())
	}
	count("prefix_hits_total", float64(st.Prefix.Hits))
	count("prefix_misses_total", float64(st.Prefix.Misses))
	count("prefix_tokens_total", float64(st.Prefix.Reused))
	count("prefix_evictions_total", float64(st.Prefix.Evictions))
	count("prefix_refused_total", float64(st.Prefix.Refused))
	gauge("prefix_bytes", float64(st.Prefix.Bytes))
	if d := st.Disk; d != nil {
		count("disk_saves_total", float64(d.Saves))
		count("disk_loads_total", float64(d.Loads))
		count("disk_written_bytes_total", float64(d.Written))
		count("disk_read_bytes_total", float64(d.Read))
		count("disk_evictions_total", float64(d.Evictions))
		count("disk_corrupt_total", float64(d.Corrupt))
		count("disk_rebuilt_total", float64(d.Rebuilt))
		gauge("disk_bytes", float64(d.Bytes))
		gauge("disk_limit_bytes", float64(d.Limit))
	}
	gauge("memory_limit_bytes", float64(st.Books.Limit))
	gauge("memory_promised_bytes", float64(st.Books.Promised))
	gauge("memory_program_bytes", float64(accountant.Program()))
}
