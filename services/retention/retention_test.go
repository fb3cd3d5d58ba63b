package retention_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/retention"
)

// data is a store whose steps take some time.
type data struct {
	logs, chats int // steps that are left
	used        int64
	fails       atomic.Bool
	refuses     bool // to delete a chat
	steps       atomic.Int64
	did         []string
	before      []time.Time
	stepped     []time.Duration // between the end of a step and the next one
	idle        time.Time
}

func (d *data) step(what string, before time.Time) error {
	if !d.idle.IsZero() {
		d.stepped = append(d.stepped, time.Since(d.idle))
	}
	<-time.After(20 * time.Millisecond)
	d.idle = time.Now()
	d.did, d.before = append(d.did, what), append(d.before, before)
	d.steps.Add(1)
	if d.fails.Load() {
		return errors.New("away")
	}
	return nil
}

func (d *data) DropLogs(_ context.Context, after int64, before, _ time.Time) (int64, int, error) {
	if d.logs--; d.logs <= 0 {
		return 0, 50, d.step("logs", before)
	}
	return after + 50, 50, d.step(fmt.Sprint("logs after ", after), before)
}

func (d *data) OldChats(_ context.Context, before time.Time) ([]record.OldChat, bool, error) {
	d.chats--
	return []record.OldChat{{Owner: "una", ConversationID: 1}, {Owner: "ben", ConversationID: 2}}, d.chats > 0, d.step("chats", before)
}

func (d *data) DeleteOldChat(_ context.Context, chat record.OldChat, before time.Time) (bool, error) {
	err := d.step("chat of "+chat.Owner, before)
	if d.refuses {
		err = errors.New("away")
	}
	return chat.ConversationID != d.used, err
}

func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &data{logs: 3, chats: 2, used: 2}
		deleted := map[string]int{}
		s := retention.New(retention.Options{
			Store: d, Logs: time.Hour, Chats: 24 * time.Hour, Deleted: func(kind string, n int) { deleted[kind] += n },
		})
		now := time.Now()
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		chats := []string{"chats", "chat of una", "chat of ben"}
		if want := slices.Concat([]string{"logs after 0", "logs after 50", "logs"}, chats, chats); !slices.Equal(d.did, want) {
			t.Errorf("the steps are %q, want %q", d.did, want)
		}
		if deleted["logs"] != 150 || deleted["chats"] != 2 {
			t.Errorf("%v were deleted, want 150 logs and 2 chats", deleted)
		}
		for i, at := range d.before {
			want := now.Add(-time.Hour)
			if strings.HasPrefix(d.did[i], "chat") {
				want = now.Add(-24 * time.Hour)
			}
			if !at.Equal(want) {
				t.Errorf("step %d (%s) is for the time before %v, want %v", i, d.did[i], at, want)
			}
		}
		for i, pause := range d.stepped {
			if pause < 9*20*time.Millisecond && i != 2 { // between logs and chats
				t.Errorf("pause %d is %v, want nine times as long as a step", i, pause)
			}
		}
	})
}

// What is old is decided by the clock that is given, and nothing is deleted without it.
func TestSweepByAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, away := time.Now().AddDate(-1, 0, 0), errors.New("away")
		d := &data{logs: 1}
		s := retention.New(retention.Options{Store: d, Logs: time.Hour, Now: func(context.Context) (time.Time, error) { return now, away }})
		if err := s.Sweep(t.Context()); !errors.Is(err, away) || len(d.did) > 0 {
			t.Errorf("without the time: %v, and the steps %q; want its error and none", err, d.did)
		}
		away = nil
		if err := s.Sweep(t.Context()); err != nil || len(d.before) != 1 || !d.before[0].Equal(now.Add(-time.Hour)) {
			t.Errorf("%v, and steps for the time before %v; want an hour before %v", err, d.before, now)
		}
	})
}

func TestSweepsEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &data{logs: 1}
		d.fails.Store(true)
		var mine atomic.Bool
		mine.Store(true)
		s := retention.New(retention.Options{
			Store: d, Logs: time.Hour, Mine: func(context.Context) (bool, error) { return mine.Load(), nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		after := func(wait time.Duration, want int) {
			t.Helper()
			<-time.After(wait)
			synctest.Wait()
			if got := int(d.steps.Load()); got != want {
				t.Errorf("got %d sweeps, want %d", got, want)
			}
		}
		after(59*time.Second, 0)
		after(2*time.Second, 1)
		d.fails.Store(false)
		after(time.Hour, 2)
		mine.Store(false) // another replica does it
		after(2*time.Hour, 2)
		mine.Store(true)
		after(time.Hour, 3)
		cancel()
		<-done
	})
}

func TestNothingToDelete(t *testing.T) {
	retention.New(retention.Options{Store: &data{}}).Run(t.Context()) // it returns at once
}

// Search indexes forget, and expired tickets are deleted, in steps, also if nothing else is
// deleted.
func TestStepsBesides(t *testing.T) {
	for name, options := range map[string]func(step func(context.Context) (bool, error)) retention.Options{
		"forget": func(step func(context.Context) (bool, error)) retention.Options {
			return retention.Options{Forget: step}
		},
		"tickets": func(step func(context.Context) (bool, error)) retention.Options {
			return retention.Options{Tickets: step}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := 3
				o := options(func(context.Context) (bool, error) {
					left--
					return left > 0, nil
				})
				o.Store = &data{}
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
				defer stop()
				retention.New(o).Run(ctx)
				if left != 0 {
					t.Errorf("%d steps are left, want 0", left)
				}
			})
		})
	}
}

// sparse has chats of which the first page has no old one.
type sparse struct {
	*data

	pages int
}

func (s *sparse) OldChats(ctx context.Context, before time.Time) ([]record.OldChat, bool, error) {
	if s.pages++; s.pages == 1 {
		return nil, true, nil
	}
	return s.data.OldChats(ctx, before)
}

// Old chats are deleted although others come before them. Logs that are kept forever stay, and
// a chat that cannot be deleted ends the sweep; the next one continues with those after it.
func TestSweepOfChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sparse{data: &data{logs: 1}}
		sweep := retention.New(retention.Options{Store: s, Chats: time.Hour}).Sweep
		if err := sweep(t.Context()); err != nil || !slices.Equal(s.did, []string{"chats", "chat of una", "chat of ben"}) {
			t.Errorf("%v, and the steps %q; want the two chats of the second page", err, s.did)
		}
		s.did, s.refuses = nil, true
		if err := sweep(t.Context()); err == nil || !slices.Equal(s.did, []string{"chats", "chat of una"}) {
			t.Errorf("%v, and the steps %q; want the error of the first chat", err, s.did)
		}
		s.did, s.refuses = nil, false
		if err := sweep(t.Context()); err != nil || !slices.Equal(s.did, []string{"chat of ben", "chats", "chat of una", "chat of ben"}) {
			t.Errorf("%v, and the steps %q; want the chat that was left, and the next page", err, s.did)
		}
	})
}
