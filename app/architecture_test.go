package app

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goNames returns the names that the Go code of the repository declares at the
// top of a file, tests aside: N, package.N, and T.M for a method.
func goNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, path := range repositoryFiles(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		file := parse(t, "../"+path)
		add := func(name string) { names[name], names[file.Name.Name+"."+name] = true, true }
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
					continue
				}
				receiver := d.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if id, ok := receiver.(*ast.Ident); ok {
					add(id.Name + "." + d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						add(s.Name.Name)
					}
				}
			}
		}
	}
	return names
}

// The page of the architecture names files, folders and Go names that exist.
func TestArchitecturePageNamesWhatIsHere(t *testing.T) {
	page := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(readFile(t, "../docs/architecture.md"), "")
	files, names := repositoryFiles(t), goNames(t)
	var web strings.Builder
	for _, path := range files {
		if strings.HasPrefix(path, "web/src/") && strings.HasSuffix(path, ".ts") {
			web.WriteString(readFile(t, "../"+path))
		}
	}
	// words are code on the page that is neither a path nor a Go name.
	words := []string{"chat", "messages", "blocks", "dialect", "mcp_servers"}
	checked := 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(page, -1) {
		code := m[1]
		if slices.Contains(words, code) || strings.HasPrefix(code, "go test ") {
			continue
		}
		checked++
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(code))); err == nil || names[code] {
			continue
		}
		if !strings.ContainsAny(code, "./") && strings.Contains(web.String(), "export function "+code+"(") {
			continue
		}
		t.Errorf("docs/architecture.md names %q: got no such file, folder, Go name or exported function of web/src", code)
	}
	if checked < 40 {
		t.Errorf("got %d names on the page, want at least 40", checked)
	}
}

// The page of the architecture says what each package of services, of tools and of store owns.
func TestArchitecturePageNamesEveryRoom(t *testing.T) {
	page := readFile(t, "../docs/architecture.md")
	for room := range rooms {
		if top, _, nested := strings.Cut(room, "/"); !nested && !strings.Contains(page, "\n- `services/"+top+"` ") {
			t.Errorf("docs/architecture.md has no line about services/%s, want one in the list of rooms", top)
		}
	}
	for _, table := range []map[string][]string{toolRooms, storeRooms} {
		for room := range table {
			if !strings.HasSuffix(room, "test") && !strings.Contains(page, "\n- `"+room+"` ") {
				t.Errorf("docs/architecture.md has no line about %s, want one in the list of rooms", room)
			}
		}
	}
}
