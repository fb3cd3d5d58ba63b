package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Mirrors adds change to the number of mirrors that are fed in that way.
func (t *Telemetry) Mirrors(via string, change int) {
	t.mirrors.WithLabelValues(via).Add(float64(change))
}

// MirrorGap counts a gap in what a mirror was fed.
func (t *Telemetry) MirrorGap() { t.mirrorGaps.Inc() }

// MirrorLag counts the time from an event to its arrival in a mirror.
func (t *Telemetry) MirrorLag(took time.Duration) { t.mirrorLag.Observe(took.Seconds()) }

// Tail counts a look at what other processes have stored.
func (t *Telemetry) Tail(took time.Duration) { t.tail.Observe(took.Seconds()) }

// BusUp records whether messages between the processes can be sent.
func (t *Telemetry) BusUp(up bool) {
	t.busUp.Set(map[bool]float64{true: 1}[up])
}

// BusMessage counts a message between the processes.
func (t *Telemetry) BusMessage(kind string, sent bool, bytes int) {
	all, direction := &t.busIn, "in"
	if sent {
		all, direction = &t.busOut, "out"
	}
	c, known := all.Load(kind)
	if !known { // to look it up in the vectors costs more than to count
		c, _ = all.LoadOrStore(kind, busCounters{t.busMessages.WithLabelValues(kind, direction), t.busBytes.WithLabelValues(direction)})
	}
	counters := c.(busCounters) //nolint:forcetypeassert // only these are stored
	counters.messages.Inc()
	counters.bytes.Add(float64(bytes))
}

// busCounters count the messages of a kind and direction, and the bytes of its direction.
type busCounters struct{ messages, bytes prometheus.Counter }

// Leases adds the gauges of a process that is one of several: how long its lease is still
// valid, and how many processes serve the database. Id is the process's own, which the
// spans of its runs have. It is called once, before the first run.
func (t *Telemetry) Leases(id func() string, left func() time.Duration, live func() int) {
	t.replica = id
	add := func(name, help string, value func() float64) {
		t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
	}
	add("replica_lease_left_seconds", "How long this process's lease is still valid.", func() float64 { return left().Seconds() })
	add("replicas_live", "Processes with a valid lease, at the last renewal.", func() float64 { return float64(live()) })
}

// RunsTaken counts runs that were taken from other processes.
func (t *Telemetry) RunsTaken(why string, n int) { t.runsTaken.WithLabelValues(why).Add(float64(n)) }

// TookOver counts the time from a process's last renewal to the first event of its run here.
func (t *Telemetry) TookOver(took time.Duration) { t.takeover.Observe(took.Seconds()) }

// Fenced counts a run that was lost to another process.
func (t *Telemetry) Fenced() { t.fenced.Inc() }
