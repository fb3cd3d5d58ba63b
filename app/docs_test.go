package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testNames collects the tests of the repository: the functions, the files that
// hold them, and the transcripts.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "dist"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			known[strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllStringSubmatch(string(content), -1) {
				known[m[1]] = true
			}
			known[d.Name()] = true
		case strings.HasSuffix(path, ".test.ts"), strings.HasSuffix(path, ".test.tsx"):
			known[d.Name()] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// Each row of the table of fault classes names its tests.
func TestSecurityPageNamesTests(t *testing.T) {
	_, table, found := strings.Cut(readFile(t, "../docs/security.md"), "| fault class |")
	if !found {
		t.Fatal("docs/security.md has no table of fault classes, want one")
	}
	known, makefile := testNames(t), readFile(t, "../Makefile")
	name := regexp.MustCompile("`([^`]+)`")
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		if len(cells) != 3 || strings.HasPrefix(row, "|---") || strings.HasPrefix(row, " what") {
			continue
		}
		tests := name.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 {
			t.Errorf("no test is named in: %s", row)
		}
		for _, m := range tests {
			test, _, _ := strings.Cut(m[1], "/")
			if target, ok := strings.CutPrefix(test, "make "); ok {
				if !strings.Contains(makefile, "\n"+target+":") {
					t.Errorf("the Makefile has no target %s", target)
				}
				continue
			}
			if !known[test] {
				t.Errorf("there is no test %s", test)
			}
		}
	}
}

// The table of sizes has what BenchmarkDisk stores at most, rounded.
func TestSizesOfTheOperatingPage(t *testing.T) {
	page, limits := readFile(t, "../docs/operating.md"), readFile(t, "../.ci/bench-limits")
	for row, benchmark := range map[string]string{
		"question and answer of 5 tokens":                           "tokens=5",
		"question and answer of 240 tokens, after a call of a tool": "tokens=240_tools=1",
		"question and answer of 2,000 tokens":                       "tokens=2000",
	} {
		said := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + ` \| ([\d,]+) \|`).FindStringSubmatch(page)
		stored := regexp.MustCompile(`BenchmarkDisk/` + regexp.QuoteMeta(benchmark) + ` (\d+) B/run`).FindStringSubmatch(limits)
		if said == nil || stored == nil {
			t.Errorf("%q: the page has %q, .ci/bench-limits has %q, want both", row, said, stored)
			continue
		}
		got, err := strconv.ParseFloat(strings.ReplaceAll(said[1], ",", ""), 64)
		want, err2 := strconv.ParseFloat(stored[1], 64)
		if errors.Join(err, err2) != nil || got < want*0.95 || got > want*1.05 {
			t.Errorf("%q: the page says %s bytes, BenchmarkDisk says %s", row, said[1], stored[1])
		}
	}
}
