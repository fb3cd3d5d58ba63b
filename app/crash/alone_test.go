package crash

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// One process serves an SQLite file, under all its names; otherwise two would work on the
// same runs. Commands work beside it. Its lock ends when it is killed.
func TestOneServiceForAFile(t *testing.T) {
	t.Parallel()
	database := apptest.SQLite.Fresh(t)
	system := apptest.NewSystem(t, database)
	system.Start()
	p := system.Process()

	folder := t.TempDir()
	link := filepath.Join(folder, "link.db")
	if err := os.Symlink(strings.TrimPrefix(database, "sqlite:"), link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{database, "sqlite:" + link} {
		environ := []string{"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_DATABASE_URL=" + name}
		ctx, stop := context.WithTimeout(t.Context(), apptest.Limit)
		err := app.Run(ctx, app.Program{Environ: environ, Stdout: io.Discard})
		stop()
		if err == nil || !strings.Contains(err.Error(), "another process serves this database") {
			t.Errorf("a second service on %s ended with %v, want an error that names the first", name, err)
		}
		for _, command := range [][]string{{"migrate", "up"}, {"migrate", "status"}, {"backup", filepath.Join(folder, filepath.Base(name)+".copy")}} {
			if _, err := apptest.Command(t, environ, command...); err != nil {
				t.Errorf("%v beside the service: %v", command, err)
			}
		}
	}

	system.ExpectEnd()
	p.Kill()
	system.Start()
}
