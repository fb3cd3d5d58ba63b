package api_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

type fakeUserData struct{ *testEnv }

func (f fakeUserData) Size(_ context.Context, user schemas.User) (schemas.DataSize, error) {
	f.call("Size %s", user.Name)
	return owned[schemas.DataSize](f.testEnv, user, true, "getMyData")
}

func (f fakeUserData) Delete(_ context.Context, user schemas.User, confirm string) (schemas.DataSize, error) {
	f.call("DeleteData %s %s", user.Name, confirm)
	return owned[schemas.DataSize](f.testEnv, user, true, "getMyData")
}

func (f fakeUserData) Export(_ context.Context, user schemas.User) iter.Seq2[[]byte, error] {
	f.call("ExportData %s", user.Name)
	return func(yield func([]byte, error) bool) {
		if f.fails != nil {
			yield(nil, f.fails)
		} else if yield([]byte(`{"kind":"user","data":{}}`+"\n"), nil) && f.breaks != nil {
			yield(nil, f.breaks)
		}
	}
}

// An export that fails midway does not end like a complete one.
func TestUserExportBreaksOff(t *testing.T) {
	_, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) { w.breaks = errors.New("the database has gone") })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/api/me/export", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("a broken export ends like a complete one, want the connection aborted")
	}
}

// A deletion goes on when its client has gone.
func TestDeletionOutlivesItsClient(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	var during error
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		o.UserData = deletion{fakeUserData{w}, func(ctx context.Context) {
			leave()
			during = ctx.Err()
		}}
	})
	req := httptest.NewRequestWithContext(gone, http.MethodDelete, "/api/me/data?confirm=1-2-3", http.NoBody)
	req.Header.Set("Authorization", "Bearer alice")
	res := httptest.NewRecorder()
	ts.Config.Handler.ServeHTTP(res, req)
	if res.Code != http.StatusOK || gone.Err() == nil || during != nil {
		t.Errorf("got %d, and in the deletion the error %v; want a deletion whose context has not ended", res.Code, during)
	}
}

// deletion calls during while it deletes.
type deletion struct {
	fakeUserData
	during func(context.Context)
}

func (d deletion) Delete(ctx context.Context, user schemas.User, confirm string) (schemas.DataSize, error) {
	d.during(ctx)
	return d.fakeUserData.Delete(ctx, user, confirm)
}

// An export that is refused is a problem that says when to come back, and no file.
func TestExportThatIsRefused(t *testing.T) {
	w, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) {
		w.fails = &schemas.Error{Code: schemas.CodeBusy, Message: "another export of your data is under way; try again later", RetryAfter: 15}
	})
	for _, method := range []string{"GET /api/me/export", "DELETE /api/me/data?confirm=1-2-3"} {
		method, path, _ := strings.Cut(method, " ")
		got, req := send(t, ts.URL, method, path, "")
		if p := got.problem(t); got.status != http.StatusConflict || p.Code != schemas.CodeBusy || got.header.Get("Retry-After") != "15" || got.header.Get("Content-Disposition") != "" {
			t.Errorf("%s: got %d %s with %v, want 409 and when to retry", path, got.status, got.body, got.header)
		}
		w.CheckResponse(t, req, got.status, got.header, got.body)
	}
}
