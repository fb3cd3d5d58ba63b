package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

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

// Prompts get memory in their order. A small one needs none, one that is larger than the
// limit goes alone, and one that ends while it waits lets the next one have its turn.
func TestPromptMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		room, order := promptMemory(2*mib), make(chan string, 10)
		free := make(map[string]func())
		take := func(ctx context.Context, name string, bytes int) {
			go func() {
				release, err := room(ctx, bytes)
				if err != nil {
					name += ": " + err.Error()
				}
				free[name] = release
				order <- name
			}()
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(order) > 0 {
				got = append(got, <-order)
			}
			if !slices.Equal(got, names) {
				t.Errorf("%q got memory, want %q", got, names)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		take(t.Context(), "a", mib)
		take(t.Context(), "b", mib)
		take(ctx, "c", mib)
		take(t.Context(), "huge", 100*mib)
		take(t.Context(), "d", mib)
		take(t.Context(), "small", smallPrompt-1)
		want("a", "b", "small")
		cancel(errors.New("cancelled"))
		want("c: cancelled")
		free["a"]()
		free["a"]() // counts once
		want()
		free["b"]()
		want("huge")
		free["huge"]()
		want("d")
		free["d"]()
		free["small"]()
		take(t.Context(), "all", 2*mib)
		want("all")
	})
}
