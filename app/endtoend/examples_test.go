package endtoend

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest"
)

// The service takes each example of a question in the contract. Some name a chat, which is
// not found here.
func TestExamplesOfQuestions(t *testing.T) {
	s := apptest.StartProcess(t, "DATABASE_URL=sqlite:"+filepath.Join(t.TempDir(), "chattray.db"))
	route := apitest.Load(t, "../../openapi.yaml").Paths.Find("/api/chat/stream").Post
	for name, example := range route.RequestBody.Value.Content.Get("application/json").Examples {
		body, err := json.Marshal(example.Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/chat/stream", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
			t.Errorf("the example %s gets %s, want 200, or 404 for its chat", name, resp.Status)
		}
	}
}
