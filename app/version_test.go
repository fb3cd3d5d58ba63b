package app

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestDescribe(t *testing.T) {
	built := " " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	clone := []debug.BuildSetting{{Key: "vcs.revision", Value: "5f0c"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}}
	tests := []struct {
		name                  string
		release, commit, date string
		info                  debug.BuildInfo
		want                  string
	}{
		{"a release", "1.4.0", "aaaa", "2026-01-02T03:04:05Z", debug.BuildInfo{Settings: clone}, "1.4.0, commit aaaa, 2026-01-02T03:04:05Z,"},
		{"go build in a clone", "development", "", "", debug.BuildInfo{Settings: clone}, "development, commit 5f0c, 2026-11-22T10:00:00Z,"},
		{
			"a clone with changes", "development", "", "",
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: append(clone, debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
			"development, commit 5f0c with changes, 2026-11-22T10:00:00Z,",
		},
		{"go install", "development", "", "", debug.BuildInfo{Main: debug.Module{Version: "v1.4.0"}}, "v1.4.0,"},
		{"nothing is known", "development", "", "", debug.BuildInfo{}, "development,"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(tt.release, tt.commit, tt.date, &tt.info); got != tt.want+built {
				t.Errorf("got %q, want %q", got, tt.want+built)
			}
		})
	}
}

// What builds a release sets variables that exist, and uses the same version of goreleaser.
func TestReleaseFiles(t *testing.T) {
	source := readFile(t, "version.go")
	variable := regexp.MustCompile(`-X github\.com/chattray/chattray/app\.(\w+)=`)
	for file, want := range map[string]int{"../.goreleaser.yaml": 3, "../Dockerfile": 3, "../Makefile": 1} {
		set := variable.FindAllStringSubmatch(readFile(t, file), -1)
		if len(set) != want {
			t.Errorf("%s sets %d variables, want %d", file, len(set), want)
		}
		for _, m := range set {
			if !regexp.MustCompile(`(?m)^\s(?:\w+, )*` + m[1] + `\b.* (?:string|=)`).MatchString(source) {
				t.Errorf("%s sets app.%s, which is not in version.go", file, m[1])
			}
		}
	}

	var config struct {
		Builds []struct{ Env, Goos, Goarch []string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../.goreleaser.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) != 1 {
		t.Fatalf(".goreleaser.yaml has %d builds, want 1", len(config.Builds))
	}
	b := config.Builds[0]
	if got, want := strings.Join(append(append(b.Env, b.Goos...), b.Goarch...), " "), "CGO_ENABLED=0 linux darwin windows amd64 arm64"; got != want {
		t.Errorf("a release has %q, want %q", got, want)
	}

	pinned := regexp.MustCompile(`(?m)^RELEASER_VERSION := (\S+)$`).FindStringSubmatch(readFile(t, "../Makefile"))
	if pinned == nil {
		t.Fatal("the Makefile does not set RELEASER_VERSION")
	}
	workflow, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(workflow), "version: "+pinned[1]+"\n") {
		t.Errorf("release.yml does not use goreleaser %s, as the Makefile does", pinned[1])
	}
}
