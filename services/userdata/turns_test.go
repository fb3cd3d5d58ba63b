package userdata_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/userdata"
)

// stalled exports una's data to a reader that takes the first lines and then waits for
// resume; ended has the last line and the error of the export.
func stalled(t *testing.T, u *userdata.UserData, resume <-chan struct{}) (ended <-chan string) {
	t.Helper()
	ends := make(chan string, 1)
	go func() {
		lines, last, broken := 0, "", error(nil)
		for piece, err := range u.Export(t.Context(), una) {
			if lines++; lines == 4 {
				<-resume
			}
			last, broken = string(piece), err
		}
		if broken != nil {
			last = broken.Error()
		}
		ends <- last
	}()
	synctest.Wait()
	return ends
}

func codeOf(err error) schemas.Code {
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		return e.Code
	}
	return ""
}

// An export waits a while for one that is stalled, and then says so; it is made once the
// other has ended.
func TestExportBesideAStalledOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, resume := data(full()), make(chan struct{})
		first := stalled(t, u, resume)
		begun := time.Now()
		for piece, err := range u.Export(t.Context(), una) {
			if codeOf(err) != schemas.CodeBusy || schemas.Visible(err).RetryAfter == 0 || time.Since(begun) > time.Minute {
				t.Errorf("after %v: got %q, %v, want the code busy within a minute", time.Since(begun), piece, err)
			}
		}
		close(resume)
		if last := <-first; !strings.Contains(last, `"end"`) {
			t.Errorf("the stalled export ends with %q, want its last line", last)
		}
		if last := <-stalled(t, u, resume); !strings.Contains(last, `"end"`) {
			t.Errorf("a later export ends with %q, want its last line", last)
		}
	})
}

// A deletion does not wait for an export that is stalled; the export then ends with an
// error, because the rest is gone. One without the right confirm ends nothing.
func TestDeleteBesideAStalledExport(t *testing.T) {
	for confirm, want := range map[string]string{"3-6-2": "conflict: the data is being deleted", "no": `"end"`} {
		synctest.Test(t, func(t *testing.T) {
			s, resume := full(), make(chan struct{})
			u := data(s)
			first := stalled(t, u, resume)
			begun := time.Now()
			_, err := u.Delete(t.Context(), una, confirm)
			if deleted := err == nil && len(s.chats)+len(s.documents) == 0; deleted != (confirm == "3-6-2") || time.Since(begun) > 0 {
				t.Errorf("with confirm %q after %v: %v, and %d chats are left", confirm, time.Since(begun), err, len(s.chats))
			}
			close(resume)
			if last := <-first; !strings.Contains(last, want) {
				t.Errorf("with confirm %q the export ends with %q, want %q", confirm, last, want)
			}
		})
	}
}

// An export that runs in another process than the deletion ends with an error, too, whether
// the deletion ends before it or not.
func TestDeleteElsewhereBesideAnExport(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, resume := full(), make(chan struct{})
			first := stalled(t, data(s), resume)
			deleter := userdata.Deleter(remover{s})
			gate := make(chan struct{})
			if slow {
				deleter = gatedRemover{remover{s}, gate}
			}
			deleted := make(chan error, 1)
			go func() {
				_, err := userdata.New(s, s, s, books{s}, deleter).Delete(t.Context(), una, "3-6-2")
				deleted <- err
			}()
			synctest.Wait()
			if left := len(s.chats); (left > 0) != slow {
				t.Errorf("%d chats are left when the export goes on", left)
			}
			close(resume)
			if last := <-first; !strings.Contains(last, "conflict: the data is being deleted") {
				t.Errorf("the export ends with %q, want an error", last)
			}
			close(gate)
			if err := <-deleted; err != nil {
				t.Error(err)
			}
		})
	}
}

// An export that comes during a deletion begins after it.
func TestExportDuringADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := full()
		u := userdata.New(s, s, s, books{s}, slowRemover{remover{s}})
		deleted := make(chan error, 1)
		go func() {
			_, err := u.Delete(t.Context(), una, "3-6-2")
			deleted <- err
		}()
		synctest.Wait()
		var kinds []string
		for piece, err := range u.Export(t.Context(), una) {
			kinds = append(kinds, string(piece[:len(`{"kind":"chat`)]))
			if err != nil {
				t.Error(err)
			}
		}
		if err := <-deleted; err != nil || slices.Contains(kinds, `{"kind":"chat`) {
			t.Errorf("deleted: %v; the export has %q, want no chat", err, kinds)
		}
	})
}

// gatedRemover deletes no chat before the gate is open.
type gatedRemover struct {
	remover
	gate <-chan struct{}
}

func (r gatedRemover) Delete(ctx context.Context, user schemas.User, id int64) error {
	<-r.gate
	return r.remover.Delete(ctx, user, id)
}

// slowRemover takes a second for each chat.
type slowRemover struct{ remover }

func (r slowRemover) Delete(ctx context.Context, user schemas.User, id int64) error {
	<-time.After(time.Second)
	return r.remover.Delete(ctx, user, id)
}
