// Package backups backs up the database of the real program while it is busy, and
// restores it, with the commands of docs/operating.md.
package backups

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// busyClients is how many clients ask one question after the other; before the backup
// answersBefore of their answers are complete.
const busyClients, answersBefore = 4, 12

// The database is backed up while runs are being written, and restored: everything that
// was complete before is there as its client read it, and what was running ends visibly.
func TestBackupWhileRunsAreWritten(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			s := newShell(t, d)
			system := apptest.NewSystem(t, s.database)
			system.Start()
			gate := make(chan struct{})
			open := system.Gated("open", "queue", gate)
			openEnds := open.Start(t)
			system.AwaitModel(t, open)

			before := s.backUp(system, d)
			apptest.CheckAll(t, before...)
			p := system.Process()
			system.ExpectEnd()
			p.Kill()

			s.run("restore", d.Name)
			system.Settings = append(system.Settings, "DATABASE_URL="+s.restored)
			system.Start()
			apptest.CheckAll(t, before...)
			close(gate)
			if err := <-openEnds; err != nil {
				t.Fatal(err)
			}
			apptest.CheckAll(t, open)
			if last := open.Frames[len(open.Frames)-1]; last.ID < 1_000_000 || last.Event.Type != schemas.TypeComplete {
				t.Errorf("the open run ended with event %d, %s; want complete in its second attempt", last.ID, last.Event.Type)
			}
			awaitEnds(t, system)
		})
	}
}

// backUp runs the documented command while clients ask, and returns the questions whose
// answers were complete before it began.
func (s *shell) backUp(system *apptest.System, d apptest.Database) []*apptest.Conversation {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), apptest.Limit)
	defer stop()
	var mu sync.Mutex
	var complete []*apptest.Conversation
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(complete)
	}
	done := make(chan struct{})
	var clients sync.WaitGroup
	for n := range busyClients {
		clients.Go(func() {
			for chat := 0; ; chat++ {
				select {
				case <-done:
					return
				default:
				}
				c := system.NewConversation(strconv.Itoa(n)+"-"+strconv.Itoa(chat/2), "queue")
				if err := c.Run(ctx); err != nil {
					s.Errorf("%s: %v", c.Question, err)
					return
				}
				mu.Lock()
				complete = append(complete, c)
				mu.Unlock()
			}
		})
	}
	apptest.Eventually(s, "some answers are complete", func() bool { return count() >= answersBefore || s.Failed() })
	began := count()
	s.run("backup", d.Name)
	apptest.Eventually(s, "answers are written after the backup", func() bool { return count() > began || s.Failed() })
	close(done)
	clients.Wait()
	return complete[:began]
}

// awaitEnds waits until every run has ended.
func awaitEnds(t *testing.T, system *apptest.System) {
	t.Helper()
	apptest.Eventually(t, "all restored runs have ended", func() bool {
		chats, cursor := 0, ""
		for {
			var page schemas.ChatList
			if status, err := system.Call(t.Context(), http.MethodGet, "/api/chats?cursor="+url.QueryEscape(cursor), &page); err != nil || status != http.StatusOK {
				t.Fatalf("the chats: status %d, %v, want 200", status, err)
			}
			if slices.ContainsFunc(page.Items, func(c schemas.Chat) bool { return c.ActiveRunID != "" }) {
				return false
			}
			chats += len(page.Items)
			if cursor = page.NextCursor; cursor == "" {
				return chats > 0
			}
		}
	})
}

// shell runs the commands of docs/operating.md in a folder of the test, as an operator
// who has chattray in the PATH.
type shell struct {
	*testing.T
	dir      string
	database string // the URL
	restored string // the URL after the restore
}

func newShell(t *testing.T, d apptest.Database) *shell {
	t.Helper()
	s := &shell{T: t, dir: t.TempDir()}
	for _, name := range []string{"data", "bin"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if d.Name == apptest.SQLite.Name {
		s.database = "sqlite:" + filepath.Join(s.dir, "data", "chattray.db")
		s.restored = s.database
	} else {
		s.database, s.restored = d.Fresh(t), d.Empty(t)
	}
	script := "#!/bin/sh\nTEST_AS_PROGRAM=1 exec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(s.dir, "bin", "chattray"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the block of commands for this kind of database.
func (s *shell) run(what, database string) {
	s.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		s.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Backup and restore\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 4 {
		s.Fatalf("docs/operating.md has %d blocks of commands on backups, want 4", len(blocks))
	}
	n := 0
	if database != apptest.SQLite.Name {
		n = 2
	}
	if what == "restore" {
		n++
	}
	cmd := exec.CommandContext(s.Context(), "bash", "-euc", blocks[n][1])
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"), "CHATTRAY_DATABASE_URL="+s.database, "RESTORED_URL="+s.restored)
	out, err := cmd.CombinedOutput()
	s.Logf("%s\n%s", blocks[n][1], out)
	if err != nil {
		s.Fatalf("%s: %v\n%s", what, err, out)
	}
}
