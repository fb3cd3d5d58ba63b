//go:build wireclients

// Package wireclients runs the clients of other protocols, unmodified and at exact
// versions, against the program: `make wire-clients` installs them.
package wireclients

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/porttest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// startFor starts the program for a case. For the case foreign another user has a run there
// that waits for the page.
func startFor(t *testing.T, s *apptest.System, c *uiCase) {
	t.Helper()
	if c.name == "foreign" {
		c.run = runOfAnother(t, s)
	}
	start(t, s)
}

// runOfAnother has the program know several users, for as long as one of them asks. It
// returns the run of that user.
func runOfAnother(t *testing.T, s *apptest.System) string {
	t.Helper()
	settings := s.Settings
	s.Settings = append(slices.Clone(settings), "JWT_SECRET=secret-of-32-bytes-for-this-test")
	var environ []string
	for _, setting := range s.Settings {
		environ = append(environ, "CHATTRAY_"+setting)
	}
	token, err := apptest.Command(t, environ, "token", "--user", "bob")
	if err != nil {
		t.Fatal(err)
	}
	s.Model.On(upstream.LastUser("his"), upstream.Open(upstream.Call(0, "c", "where", "{}"), upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done()))
	s.Start()
	asked := s.Send(t, http.MethodPost, "/api/ui", json.RawMessage(`{"id": "his", "client_tools": [{"name": "where"}], "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "his"}]}]}`),
		"Authorization", "Bearer "+strings.TrimSpace(token))
	run := asked.Header.Get("X-Run-Id")
	if said, err := io.ReadAll(asked.Body); err != nil || !strings.Contains(string(said), run+"-0") || run == "" {
		t.Fatalf("the other user gets %s (%v), want a call that waits", said, err)
	}
	s.Stop()
	s.Settings = settings
	return run
}

// start starts the program at an address that it has again after it was killed.
func start(t *testing.T, s *apptest.System) {
	t.Helper()
	s.Settings = append(s.Settings, "ADDR="+porttest.Address(t))
	s.Start()
}
