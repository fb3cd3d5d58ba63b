package settings

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated text into the files")

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// settingsPage is the page that lists every setting.
const settingsPage = "../../docs/settings.md"

// settingsMarkdown is the table of settings in the form of settingsPage.
func settingsMarkdown() string {
	var b strings.Builder
	b.WriteString("| key | environment | default | what |\n|---|---|---|---|\n")
	for _, s := range table {
		def := "–"
		if s.def != "" {
			def = "`" + s.def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.key, strings.Join(s.env, "`, else `"), def, s.help)
	}
	return b.String()
}

func TestSettingsPageHasTheSettings(t *testing.T) {
	page := readFile(t, settingsPage)
	table := regexp.MustCompile(`(?s)(<!-- settings: [^\n]* -->\n)(.*)(<!-- /settings -->)`)
	found := table.FindStringSubmatch(page)
	if found == nil {
		t.Fatal(settingsPage + " has no place for the table of settings, want one")
	}
	want := settingsMarkdown()
	if *update {
		page = strings.Replace(page, found[0], found[1]+want+found[3], 1)
		if err := os.WriteFile(settingsPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, found[2]); diff != "" {
		t.Errorf("the table of settings (-code +docs/settings.md):\n%s", diff)
	}
}

func TestSettingsPageExampleIsGood(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(model:.*?)```").FindStringSubmatch(readFile(t, settingsPage))
	if block == nil {
		t.Fatal(settingsPage + " has no example of a settings file, want one")
	}
	key := tempFile(t, "key", "k")
	c, _, err := sources{file: strings.ReplaceAll(block[1], "/run/secrets/openai", key)}.load(t)
	if err != nil || c.Model != "small" || len(c.Models) != 2 {
		t.Errorf("got %+v, %v", c.Models, err)
	}
}

// variables finds the names of our variables that a file sets.
func variables(text string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^[^#\n]*?\b(CHATTRAY_[A-Z_]+)[:=]`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestContainersUseKnownSettings(t *testing.T) {
	known := map[string]bool{}
	for _, s := range table {
		for _, name := range s.env {
			known[name], known[name+"_FILE"] = true, s.kind != plain
		}
	}
	for _, file := range []string{"Dockerfile", "docker-compose.yml"} {
		names := variables(readFile(t, filepath.Join("../..", file)))
		if len(names) == 0 {
			t.Errorf("%s sets nothing", file)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s sets %s, which is no setting", file, name)
			}
		}
	}
}
