package pages

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/schemas/text"
)

// Limits of page files.
const (
	maxPageFile      = 1 << 20 // bytes
	maxPageFiles     = 500
	maxPageName      = 100    // characters of page, tab, subtab and action names
	maxPageText      = 20_000 // characters of an identity or a template
	maxPageItems     = 200    // entries of one list or map
	maxPageDepth     = 32     // depth of a schema
	maxPageMistakes  = 100    // mistakes reported at once
	maxPageAliasHops = 8
)

// pageMistake is a mistake in a page file. Line 0 means the file as a whole.
type pageMistake struct {
	file string
	line int
	text string
}

func (m pageMistake) Error() string {
	if m.line == 0 {
		return m.file + ": " + m.text
	}
	return m.file + ":" + strconv.Itoa(m.line) + ": " + m.text
}

// pageLoader reads and checks page files, and collects their mistakes.
type pageLoader struct {
	parts    Parts
	mistakes []pageMistake
}

func (l *pageLoader) wrong(file string, line int, format string, args ...any) {
	l.mistakes = append(l.mistakes, pageMistake{file, line, fmt.Sprintf(format, args...)})
}

// err joins the mistakes by file and line; nil when there are none.
func (l *pageLoader) err() error {
	if len(l.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(l.mistakes, func(a, b pageMistake) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	list := slices.Compact(l.mistakes)
	errs := make([]error, 0, min(len(list), maxPageMistakes)+1)
	for i, m := range list {
		if i == maxPageMistakes {
			errs = append(errs, fmt.Errorf("and %d more mistakes in page files", len(list)-i))
			break
		}
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// readBundled reads the files at the root of files.
func (l *pageLoader) readBundled(files fs.FS) []*pageFile { return l.readAll(files, "bundled pages") }

// readFolder reads the files of a folder; "" is none.
func (l *pageLoader) readFolder(dir string) []*pageFile {
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		l.wrong(dir, 0, "is not a folder of page files")
		return nil
	}
	files, mistakes := os.DirFS(dir), len(l.mistakes)
	list := l.readAll(files, dir)
	if len(list) > 0 || len(l.mistakes) > mistakes {
		return list
	}
	if nested, err := fs.Glob(files, "[^.]*/[^.]*.[yY]*[mM][lL]"); err == nil && len(nested) > 0 {
		l.wrong(dir, 0, "has no page files; those in its folders, such as %s, are not read", nested[0])
	}
	return nil
}

func (l *pageLoader) readAll(files fs.FS, folder string) []*pageFile {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		l.wrong(folder, 0, "cannot be read: %v", err)
		return nil
	}
	var list []*pageFile
	for _, entry := range entries {
		name := entry.Name()
		ext := filepath.Ext(name)
		lower := strings.ToLower(ext)
		if entry.IsDir() || strings.HasPrefix(name, ".") || lower != ".yaml" && lower != ".yml" {
			continue
		}
		if ext != lower {
			l.wrong(filepath.Join(folder, name), 0, "is not read: the names of page files end with .yaml or .yml, in small letters")
			continue
		}
		if len(list) == maxPageFiles {
			l.wrong(folder, 0, "has more than %d page files", maxPageFiles)
			break
		}
		shown := filepath.Join(folder, name)
		if f := l.readFile(files, name, shown); f != nil {
			list = append(list, f)
		}
	}
	return list
}

func (l *pageLoader) readFile(files fs.FS, name, shown string) *pageFile {
	info, err := fs.Stat(files, name)
	if err == nil && !info.Mode().IsRegular() { // to open a pipe could take forever
		l.wrong(shown, 0, "is not a regular file")
		return nil
	}
	if err != nil {
		l.wrong(shown, 0, "cannot be read: %v", err)
		return nil
	}
	file, err := files.Open(name)
	if err != nil {
		l.wrong(shown, 0, "cannot be read: %v", err)
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPageFile+1))
	if err != nil {
		l.wrong(shown, 0, "cannot be read: %v", err)
		return nil
	}
	if len(content) > maxPageFile {
		l.wrong(shown, 0, "has more than %d bytes", maxPageFile)
		return nil
	}
	root, ok := l.parseYAML(content, shown)
	if !ok {
		return nil
	}
	r := &pageReader{loader: l, file: shown}
	return r.page(root, strings.TrimSuffix(name, filepath.Ext(name)))
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parseYAML returns the root node of the only document in content.
func (l *pageLoader) parseYAML(content []byte, shown string) (*yaml.Node, bool) {
	d := yaml.NewDecoder(strings.NewReader(string(content)))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		l.wrong(shown, 0, "is empty")
		return nil, false
	case err != nil:
		l.yamlMistake(shown, err)
		return nil, false
	}
	if len(doc.Content) == 0 {
		l.wrong(shown, 0, "is empty")
		return nil, false
	}
	if err := d.Decode(&second); err == nil {
		l.wrong(shown, second.Line, "there is a second document; a file describes one page")
		return nil, false
	} else if !errors.Is(err, io.EOF) {
		l.yamlMistake(shown, err)
		return nil, false
	}
	keepText(&doc)
	return doc.Content[0], true
}

// keepText makes texts of the dates below n, because JSON has none and the library would add
// the time of the day to 2024-01-31, and of numbers such as 0123, which it would read as 83.
func keepText(n *yaml.Node) {
	for _, child := range n.Content {
		keepText(child)
	}
	switch tag := n.ShortTag(); {
	case tag == "!!timestamp", (tag == "!!int" || tag == "!!float") && zeroFirst.MatchString(n.Value):
		n.Tag = "!!str"
	}
}

var zeroFirst = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

func (l *pageLoader) yamlMistake(shown string, err error) {
	said := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(said); m != nil {
		line, _ = strconv.Atoi(m[1])
		said = strings.TrimPrefix(said, m[0])
	}
	l.wrong(shown, line, "is not valid YAML: %s%s", said, text.YAMLHint(said))
}
