package seldom_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/seldom"
)

// logged returns a logger, and a function that returns the lines since its last call.
func logged() (to *slog.Logger, lines func() string) {
	var out strings.Builder
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(handler), func() string {
		got := strings.TrimSpace(out.String())
		out.Reset()
		return got
	}
}

func TestOneLineForEachMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, lines := logged()
		var log seldom.Log
		write := func(message string, n int) {
			for i := range n {
				log.Write(t.Context(), to, slog.LevelWarn, message, slog.Int("n", i))
			}
		}
		write("full", 3)
		write("away", 2)
		if got, want := lines(), "msg=full n=0 left_out=0\nmsg=away n=0 left_out=0"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		<-time.After(seldom.Pause - 1)
		write("full", 1)
		if got := lines(); got != "" {
			t.Errorf("before the pause is over: got %q, want nothing", got)
		}
		<-time.After(1)
		write("full", 2)
		write("away", 1)
		if got, want := lines(), "msg=full n=0 left_out=3\nmsg=away n=0 left_out=1"; got != want {
			t.Errorf("after it: got %q, want %q", got, want)
		}
	})
}

// However many things there are, there are few lines, and those that are left out are counted.
func TestManyThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, lines := logged()
		var log seldom.Log
		for round, want := range []int{0, 2 + 8, 2} { // left out before
			for i := range 10 {
				log.About(t.Context(), fmt.Sprintf("%d %d", round, i), to, slog.LevelWarn, "refused")
			}
			got := strings.Split(lines(), "\n")
			if len(got) != 8 || got[0] != fmt.Sprintf("msg=refused left_out=%d", want) || got[7] != "msg=refused left_out=0" {
				t.Errorf("round %d: got %q, want 8 lines, the first with %d left out", round, got, want)
			}
			if round == 0 {
				for i := range 8 {
					log.About(t.Context(), fmt.Sprintf("%d %d", round, i), to, slog.LevelWarn, "refused")
				}
			}
			<-time.After(seldom.Pause)
		}
	})
}
