package app

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// outside matches what a reader of the repository cannot open: design pages,
	// specifications and issues by number.
	outside = regexp.MustCompile(`(?i)\bspec(ification)?s? \d|\bspecs? (say|call|show)|\bscenario \d|\bdesign(:| pages?\b)|\bissues? #?\d|\(the issue\)|\breview's\b|` +
		`\b\d{1,2}-(overview|protocol|service|agent|exact-answers|documents|web|replicas|wires|house)\b|\b\d-[a-z]+; \d-[a-z]`)
	// named matches the name of a file in a comment.
	named = regexp.MustCompile(`[\w./-]*\w\.(md|go|ts|tsx|yaml|sql|txtar|css)\b`)
	// examples are names of files in comments that are no files of the repository.
	examples = []string{"pages/NAME.yaml", "d.ts"}
	// commentLine finds the lines of comments in TypeScript, JavaScript, style
	// sheets, YAML, shell and Makefiles.
	commentLine = regexp.MustCompile(`(?m)^\s*(?://|/?\*+/?|#+)(.*)$`)
)

// repositoryFiles lists the files of the repository, as paths with slashes from its root.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "lib", "bin", "data"}, d.Name()):
			return fs.SkipDir
		case !d.IsDir():
			found = append(found, strings.TrimPrefix(filepath.ToSlash(path), "../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// comments returns the texts that a file has for its readers, without line breaks.
func comments(t *testing.T, path string) []string {
	t.Helper()
	var found []string
	switch filepath.Ext(path) {
	case ".go":
		file, err := parser.ParseFile(token.NewFileSet(), "../"+path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Comments {
			found = append(found, c.Text())
		}
	case ".ts", ".tsx", ".js", ".css", ".yml", ".sh", ".sql", "":
		var all strings.Builder
		for _, line := range commentLine.FindAllStringSubmatch(readFile(t, "../"+path), -1) {
			all.WriteString(line[1] + "\n")
		}
		found = []string{all.String()}
	case ".md", ".yaml":
		found = []string{readFile(t, "../"+path)}
	case ".txtar": // its head
		head, _, _ := strings.Cut(readFile(t, "../"+path), "\n-- ")
		found = []string{head}
	}
	for i, text := range found {
		found[i] = strings.Join(strings.Fields(text), " ")
	}
	return found
}

// Comments and documents cite only what a reader of the repository can open.
func TestCommentsCiteWhatIsHere(t *testing.T) {
	files := repositoryFiles(t)
	known := map[string]bool{} // each file by its name, and by the ends of its path
	for _, name := range examples {
		known[name] = true
	}
	for _, file := range files {
		for rest, more := file, true; more; _, rest, more = strings.Cut(rest, "/") {
			known[rest] = true
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "app/comments_test.go") {
			continue
		}
		for _, text := range comments(t, path) {
			if at := outside.FindStringIndex(text); at != nil {
				t.Errorf("%s cites what is not in the repository: ... %s ...", path, text[max(0, at[0]-60):min(len(text), at[1]+60)])
			}
			if filepath.Ext(path) == ".md" || strings.Contains(path, "openapi.") {
				continue // pages for users and the contract name files of users
			}
			for _, name := range named.FindAllString(text, -1) {
				if !known[strings.TrimLeft(name, "./")] {
					t.Errorf("%s names the file %q, which is not in the repository", path, name)
				}
			}
		}
	}
}

// The pattern knows citations in the forms that they have had, and leaves other words alone.
func TestCitationsAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		`the frames (spec 004; 2-protocol, "Frames")`:  true,
		`(specs 001 to 003)`:                           true,
		`(design page 3, "The loop")`:                  true,
		`built in (design 3-agent, "Tools")`:           true,
		`whoever watches (issue 3).`:                   true,
		`design pages 3-agent.md`:                      true,
		`the issuer of the tokens, a 64-byte document`: false,
		`study design and specification of an index`:   false,
	} {
		if got := outside.MatchString(text); got != want {
			t.Errorf("%q is a citation: got %t, want %t", text, got, want)
		}
	}
}
