package storetest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

func testMigrations(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{NoMigrate: true}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	steps, err := s.MigrationStatus(t.Context())
	must(t, err)
	if len(steps) == 0 || !steps[0].AppliedAt.IsZero() || steps[0].Version != 1 || !strings.HasSuffix(steps[0].Name, ".sql") {
		t.Errorf("steps of an empty database: got %+v", steps)
	}
	for range 2 {
		must(t, s.Migrate(t.Context()))
	}
	steps, err = s.MigrationStatus(t.Context())
	must(t, err)
	for _, step := range steps {
		if step.AppliedAt.IsZero() {
			t.Errorf("step %s is pending after a migration", step.Name)
		}
	}
	must(t, s.Ping(t.Context()))

	// Another process opens the database and finds the stored data.
	g := newFixture(t, s).turn("q", "a")
	again := open(t, url)
	run, err := again.Run(t.Context(), g.Run.ID)
	must(t, err)
	equal(t, "run", run.State, schemas.RunCompleted)
}

func testMigratedAtOnce(t *testing.T, url string) {
	if strings.HasPrefix(url, "sqlite:") {
		must(t, open(t, url).Ping(t.Context())) // only one process opens a file, so it makes the tables alone
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), url, store.Options{})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
}

// testClosed makes all calls on a closed store.
func testClosed(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	must(t, err)
	f := newFixture(t, s)
	g := f.turn("q", "a")
	must(t, s.Close())
	must(t, s.Close())
	for name, call := range calls(s, f.owner, g) {
		fails(t, name, call(t.Context()), record.ErrUnavailable)
	}
}

// calls are all methods of a store that use the database.
func calls(s *store.Store, owner string, g *record.Begin) map[string]func(ctx context.Context) error {
	id, run, message := g.Run.ConversationID, g.Run.ID, g.Run.MessageID
	return map[string]func(ctx context.Context) error{
		"ping":             s.Ping,
		"migrate":          s.Migrate,
		"migration status": func(ctx context.Context) error { _, err := s.MigrationStatus(ctx); return err },
		"empty":            func(ctx context.Context) error { _, err := s.Empty(ctx); return err },
		"import": func(ctx context.Context) error {
			_, err := s.Import(ctx, strings.NewReader(`{"kind":"stream","stream_id":1,"name":"n"}`))
			return err
		},
		"commit": func(ctx context.Context) error {
			return s.Commit(ctx, []*record.Write{{RunID: run, Attempt: 1, Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`1`)}}})
		},
		"run":              func(ctx context.Context) error { _, err := s.Run(ctx, run); return err },
		"run by key":       func(ctx context.Context) error { _, err := s.RunByKey(ctx, owner, "k"); return err },
		"take":             func(ctx context.Context) error { _, err := s.Take(ctx, []string{"r"}, "q"); return err },
		"tidy":             func(ctx context.Context) error { return s.Tidy(ctx, nil) },
		"runs after":       func(ctx context.Context) error { _, err := s.RunsAfter(ctx, run, 1); return err },
		"next queued":      func(ctx context.Context) error { _, err := s.NextQueued(ctx, id); return err },
		"waiting":          func(ctx context.Context) error { _, err := s.Waiting(ctx, id); return err },
		"begin an attempt": func(ctx context.Context) error { return s.BeginAttempt(ctx, run, 2, "") },
		"request cancel":   func(ctx context.Context) error { return s.RequestCancel(ctx, run) },
		"segments":         func(ctx context.Context) error { _, err := s.Segments(ctx, run, 0); return err },
		"next segment":     func(ctx context.Context) error { _, err := s.NextSegment(ctx, run, 0); return err },
		"checkpoints":      func(ctx context.Context) error { _, err := s.Checkpoints(ctx, run); return err },
		"tool calls":       func(ctx context.Context) error { _, err := s.ToolCalls(ctx, run); return err },
		"tool call":        func(ctx context.Context) error { _, err := s.ToolCall(ctx, run, 0); return err },
		"trace":            func(ctx context.Context) error { _, err := s.Trace(ctx, run); return err },
		"chats":            func(ctx context.Context) error { _, err := s.Chats(ctx, owner, record.ChatQuery{}); return err },
		"chat":             func(ctx context.Context) error { _, err := s.Chat(ctx, owner, id); return err },
		"chat by key":      func(ctx context.Context) error { _, err := s.ChatByKey(ctx, owner, g.Run.ChatKey); return err },
		"rename":           func(ctx context.Context) error { _, err := s.PatchChat(ctx, owner, id, title("t")); return err },
		"delete":           func(ctx context.Context) error { return s.DeleteChat(ctx, owner, id) },
		"messages": func(ctx context.Context) error {
			_, _, err := s.Messages(ctx, owner, id, record.MessageQuery{})
			return err
		},
		"message": func(ctx context.Context) error { _, err := s.Message(ctx, owner, id, message); return err },
		"files":   func(ctx context.Context) error { _, err := s.Files(ctx, owner, id, message); return err },
		"file":    func(ctx context.Context) error { _, err := s.File(ctx, owner, id, message, 0); return err },
		"feedback": func(ctx context.Context) error {
			_, err := s.SetFeedback(ctx, owner, id, message, schemas.Feedback{Rating: "up"})
			return err
		},
		"payload":  func(ctx context.Context) error { _, err := s.Payload(ctx, owner, id, "00000000"); return err },
		"payloads": func(ctx context.Context) error { _, err := s.Payloads(ctx, owner, id, ""); return err },
		"resolve": func(ctx context.Context) error {
			_, err := s.ResolvePayload(ctx, owner, id, "00000000", "accepted")
			return err
		},
		"summary":     func(ctx context.Context) error { _, err := s.Summary(ctx, owner, id); return err },
		"set summary": func(ctx context.Context) error { return s.SetSummary(ctx, owner, id, record.Summary{Text: "t"}) },
		"streams":     func(ctx context.Context) error { _, err := s.Streams(ctx); return err },
		"stream":      func(ctx context.Context) error { _, err := s.Stream(ctx, 1); return err },
		"update stream": func(ctx context.Context) error {
			_, err := s.UpdateStream(ctx, 1, func(*schemas.Stream) error { return nil })
			return err
		},
		"reports":   func(ctx context.Context) error { _, err := s.Reports(ctx, 0); return err },
		"report":    func(ctx context.Context) error { _, err := s.Report(ctx, 1); return err },
		"search":    func(ctx context.Context) error { _, err := s.SearchArticles(ctx, "x", 0, 0, 5); return err },
		"mcp tools": func(ctx context.Context) error { _, err := s.MCPTools(ctx); return err },
		"see mcp tools": func(ctx context.Context) error {
			_, err := s.SeeMCPTools(ctx, "s", []record.MCPTool{{Tool: "t", Hash: "h"}})
			return err
		},
		"accept mcp tools": func(ctx context.Context) error { _, err := s.AcceptMCPTools(ctx, "s", "", ""); return err },
	}
}
