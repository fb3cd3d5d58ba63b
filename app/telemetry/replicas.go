package telemetry

import "time"

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
	direction := "in"
	if sent {
		direction = "out"
	}
	t.busMessages.WithLabelValues(kind, direction).Inc()
	t.busBytes.WithLabelValues(direction).Add(float64(bytes))
}
