package main

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// How much garbage may lie around: a small heap is collected rarely, a large one
// often, so that holding many streams does not double what they need.
const (
	garbageRoom  = 64 << 20 // bytes that may always be garbage
	leastPercent = 10       // of the live heap, for a large one
	mostPercent  = 400
	tuneEvery    = time.Second
)

// tuneMemory sets the collector's target from the size of the live heap, until
// ctx ends. A target that the operator has set (GOGC) stays.
func tuneMemory(ctx context.Context) {
	set := debug.SetGCPercent(mostPercent)
	if set != defaultPercent {
		debug.SetGCPercent(set)
		return
	}
	defer debug.SetGCPercent(set)
	tick := time.NewTicker(tuneEvery)
	defer tick.Stop()
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for now := mostPercent; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		runtimemetrics.Read(sample)
		if next := heapPercent(sample[0].Value.Uint64()); next != now {
			debug.SetGCPercent(next)
			now = next
		}
	}
}

const defaultPercent = 100

// heapPercent is the target for a live heap of that many bytes, in steps of 5.
func heapPercent(live uint64) int {
	percent := int(garbageRoom * 100 / max(live, 1<<20)) //nolint:gosec // at most 6400
	return min(max(percent/5*5, leastPercent), mostPercent)
}
