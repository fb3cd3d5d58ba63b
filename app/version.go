package app

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// The linker sets these in a release. Otherwise commit and commitDate are empty, and the
// build information of Go has them if the program was built in a clone.
var (
	release            = "development"
	commit, commitDate string
)

// version returns the release, the commit with its date if they are known, and what the
// program was built for, such as
// "1.4.0, commit 5f0c…, 2026-11-22T10:00:00Z, go1.26.8, linux/amd64".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describe(release, commit, commitDate, info)
}

func describe(release, commit, date string, info *debug.BuildInfo) string {
	recorded := map[string]string{}
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	if release == "development" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		release = info.Main.Version // of "go install …@v1.4.0"
	}
	parts := []string{release}
	if c := cmp.Or(commit, recorded["vcs.revision"]); c != "" {
		if commit == "" && recorded["vcs.modified"] == "true" {
			c += " with changes"
		}
		parts = append(parts, "commit "+c)
	}
	if d := cmp.Or(date, recorded["vcs.time"]); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(append(parts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH), ", ")
}
