package app

import "testing"

// The room for garbage grows while the collector takes much of the CPU, shrinks while it
// takes little or has nothing to do, and stays within its limits.
func TestGarbageRoom(t *testing.T) {
	const live = 400 << 20
	most := garbageRoom(mostGarbage + live/mostOfLive)
	for name, c := range map[string]struct {
		from garbageRoom
		used collecting
		want func(got garbageRoom) bool
	}{
		"much":     {20 << 20, collecting{0.2, 1}, func(got garbageRoom) bool { return got > 25<<20 }},
		"as meant": {20 << 20, collecting{gcShare, 1}, func(got garbageRoom) bool { return got == 20<<20 }},
		"little":   {20 << 20, collecting{0.001, 1}, func(got garbageRoom) bool { return got < 20<<20 }},
		"none":     {20 << 20, collecting{}, func(got garbageRoom) bool { return got < 20<<20 }},
		"least":    {leastGarbage, collecting{}, func(got garbageRoom) bool { return got == leastGarbage }},
		"most":     {most, collecting{1, 1}, func(got garbageRoom) bool { return got == most }},
	} {
		if got := c.from.next(c.used, live); !c.want(got) {
			t.Errorf("%s: got %.1f MiB from %.1f MiB", name, got/(1<<20), c.from/(1<<20))
		}
	}
	if got := garbageRoom(64 << 20).percent(128 << 20); got != 50 {
		t.Errorf("64 MiB of 128 MiB: got %d %%, want 50", got)
	}
}
