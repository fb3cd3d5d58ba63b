package api_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/chattray/chattray/api"
)

func TestChatExportNamesItsFile(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for format, want := range map[string]string{"markdown": ".md", "json": ".json"} {
		got, _ := send(t, ts.URL, "GET", "/api/chats/789/export?format="+format, "")
		name := `attachment; filename="Find recent trials of CRISPR in sickle cell disease` + want + `"`
		if got.status != http.StatusOK || got.header.Get("Content-Disposition") != name {
			t.Errorf("%s: %d %q", format, got.status, got.header.Get("Content-Disposition"))
		}
	}
}

// TestChatExportThatBreaksOff makes the database fail during an export: the
// client notices it, and does not take the part for the whole export.
func TestChatExportThatBreaksOff(t *testing.T) {
	_, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) { w.breaks = errors.New("the database is not available") })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/api/chats/789/export", http.NoBody)
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
