package app

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/chattray/chattray/app/settings"
)

// How much garbage is allowed: as little as lets the collector take about gcShare of the
// CPU that the process uses, within these limits. What a collection costs follows from
// the memory that lives, and how many there are from the garbage that is allowed: so a
// process that makes little garbage is small, and one that makes much is not slow.
const (
	gcShare      = 0.05
	leastGarbage = 12 << 20 // bytes that may always be garbage
	firstGarbage = 16 << 20 // before anything is known
	mostGarbage  = 64 << 20 // and a share of what lives:
	mostOfLive   = 4        // a fourth
	tuneEvery    = time.Second / 2
)

// smallPrompt is the size below which a prompt is not counted: its run takes as much besides.
const smallPrompt = 256 << 10

// promptRoom waits until so many more bytes of prompts may be in memory.
type promptRoom func(ctx context.Context, bytes int) (release func(), err error)

// promptRooms are the rooms of servers by their base URLs, and under "" that of prompts which are made.
type promptRooms map[string]promptRoom

// newPromptRooms shares out the memory for prompts: a server that does not read what is sent to
// it holds up only its own prompts.
func newPromptRooms(c settings.Config) promptRooms {
	rooms := promptRooms{"": nil}
	for _, m := range c.Models {
		rooms[serverOf(c, m)] = nil
	}
	for base := range rooms {
		rooms[base] = promptMemory(c.Limits.Prompts / int64(len(rooms)))
	}
	return rooms
}

// promptMemory returns a room for prompts. Those that wait get memory in their order. A prompt
// that is larger than the limit waits until it is the only one.
func promptMemory(limit int64) promptRoom {
	all := semaphore.NewWeighted(limit)
	return func(ctx context.Context, bytes int) (release func(), err error) {
		if bytes < smallPrompt {
			return func() {}, nil
		}
		n := min(int64(bytes), limit)
		if all.Acquire(ctx, n) != nil {
			return nil, context.Cause(ctx)
		}
		return sync.OnceFunc(func() { all.Release(n) }), nil
	}
}

// tuneMemory sets the collector's target now and then until ctx ends. It keeps a target
// that the operator has set (GOGC).
func tuneMemory(ctx context.Context) {
	set := debug.SetGCPercent(defaultPercent)
	if set != defaultPercent {
		debug.SetGCPercent(set)
		return
	}
	defer debug.SetGCPercent(set)
	debug.FreeOSMemory() // what the start has left
	tick := time.NewTicker(tuneEvery)
	defer tick.Stop()
	garbage, now := garbageRoom(firstGarbage), defaultPercent
	for before, live := usedMemory(); ; {
		if next := garbage.percent(live); next != now {
			debug.SetGCPercent(next)
			now = next
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var u collecting
		u, live = usedMemory()
		garbage = garbage.next(u.since(before), live)
		before = u
	}
}

const defaultPercent = 100

// collecting is CPU time in seconds: the collector's, and all that was used.
type collecting struct{ gc, all float64 }

// usedMemory returns the CPU time at the last collection, and the memory in bytes that the collector's
// percentage refers to.
func usedMemory() (u collecting, live uint64) {
	sample := []runtimemetrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"},
	}
	runtimemetrics.Read(sample)
	for _, s := range sample[3:] {
		live += s.Value.Uint64()
	}
	return collecting{sample[0].Value.Float64(), sample[1].Value.Float64() - sample[2].Value.Float64()}, live
}

// since returns the CPU time after an earlier one.
func (u collecting) since(before collecting) collecting {
	return collecting{u.gc - before.gc, u.all - before.all}
}

// garbageRoom is how many bytes may be garbage.
type garbageRoom float64

// next returns the room until it is called again. U is what was used from collection to
// collection, zero if there was none since the last call. It grows fast, because a burst
// waits for the collector, and shrinks slowly, because the next burst may be near.
func (r garbageRoom) next(u collecting, live uint64) garbageRoom {
	share := 0.0
	if u.all > 0 {
		share = u.gc / u.all
	}
	r *= garbageRoom(min(max(share/gcShare, 0.9), 4))
	return min(max(r, leastGarbage), mostGarbage+garbageRoom(live/mostOfLive))
}

// percent returns the room as a percentage of the live bytes, in steps of 5.
func (r garbageRoom) percent(live uint64) int {
	return max(int(float64(r)*100/float64(max(live, 1<<20)))/5*5, 5)
}
