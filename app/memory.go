package app

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// How much garbage is allowed: a small heap is collected rarely and a large
// heap often, so that many streams do not need twice their memory.
const (
	garbageRoom  = 64 << 20 // bytes that may always be garbage
	leastPercent = 15       // percentage for a large live heap
	mostPercent  = 400
	tuneEvery    = time.Second
)

// tuneMemory sets the collector's target from the size of the live heap, until
// ctx ends. It keeps a target that the operator has set (GOGC).
func tuneMemory(ctx context.Context) {
	set := debug.SetGCPercent(mostPercent)
	if set != defaultPercent {
		debug.SetGCPercent(set)
		return
	}
	defer debug.SetGCPercent(set)
	tick := time.NewTicker(tuneEvery)
	defer tick.Stop()
	// The memory that the collector's percentage refers to.
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	for now := mostPercent; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		runtimemetrics.Read(sample)
		live := uint64(0)
		for _, s := range sample {
			live += s.Value.Uint64()
		}
		if next := heapPercent(live); next != now {
			debug.SetGCPercent(next)
			now = next
		}
	}
}

const defaultPercent = 100

// heapPercent returns the target for that many live bytes, in steps of 5.
func heapPercent(live uint64) int {
	percent := int(garbageRoom * 100 / max(live, 1<<20)) //nolint:gosec // at most 6400
	return min(max(percent/5*5, leastPercent), mostPercent)
}
