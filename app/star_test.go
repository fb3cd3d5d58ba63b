package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chattray/chattray"

// folders are the points of the star: each imports schemas and itself. Only app may
// import them all, and main imports app alone.
var folders = []string{"api", "services", "agents", "tools", "payloads", "relay", "store", "web", "schemas"}

// homes has the folder of each vendor library, by the beginning of its import
// path.
var homes = map[string][]string{
	"github.com/labstack/echo":               {"api"},
	"github.com/r3labs/sse":                  {"api"},
	"github.com/go-playground/validator":     {"api/bodies"},
	"github.com/coder/websocket":             {"api/ws", "app/apptest"},
	"github.com/coreos/go-oidc":              {"api/auth"},
	"github.com/go-jose":                     {"api/auth"},
	"github.com/golang-jwt":                  {"api/auth"},
	"gorm.io":                                {"store"},
	"modernc.org":                            {"store"},
	"github.com/pressly/goose":               {"store"},
	"github.com/jackc":                       {"store", "app/apptest"},
	"github.com/nats-io":                     {"relay"},
	"github.com/sashabaranov/go-openai":      {"agents/openai"},
	"github.com/modelcontextprotocol/go-sdk": {"tools"},
	"github.com/JohannesKaufmann":            {"tools"},
	"code.dny.dev/ssrf":                      {"tools"},
	"github.com/knadh/koanf":                 {"app/settings"},
	"github.com/spf13":                       {"app"},
	"github.com/prometheus":                  {"app/telemetry"},
	"go.opentelemetry.io":                    {"app/telemetry"},
	"github.com/go-logr":                     {"app/telemetry"},
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// place is the package's folder, empty for main.
func (p goPackage) place() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	if len(found) < len(folders) {
		t.Fatalf("go list found %d packages", len(found))
	}
	return found
}

// within reports whether a folder is one of the others or is inside one.
func within(place string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return beginsWith(place, o) })
}

// beginsWith compares whole path elements.
func beginsWith(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func TestStar(t *testing.T) {
	for _, p := range packages(t) {
		from := p.place()
		top, _, _ := strings.Cut(from, "/")
		if top == "app" {
			continue // it wires everything
		}
		if from == "" {
			top = "app" // all that main imports
		}
		if from != "" && !slices.Contains(folders, top) {
			t.Errorf("%s: the star has no such folder", from)
		}
		for _, path := range p.Imports {
			if to, ours := strings.CutPrefix(path, module+"/"); ours && !within(to, []string{top, "schemas"}) {
				t.Errorf("%s imports %s", from, to)
			}
			if first, _, _ := strings.Cut(path, "/"); top == "schemas" && strings.Contains(first, ".") && !beginsWith(path, module+"/schemas") {
				t.Errorf("%s imports %s; it has only the standard library", from, path)
			}
		}
	}
}

// rooms says which packages of services each of them may import. There is no
// cycle, and answer does not import runs.
var rooms = map[string][]string{
	"actions":          {"research"},
	"admin":            {"eventlog", "trace"},
	"acts":             {"exchange"},
	"answer":           {"answer/argstream", "answer/levels", "answer/payloads", "answer/target", "answer/visible", "answer/waits", "answer/writes", "answer/written", "attempts", "documents", "eventlog", "guard", "leases", "modeltext", "trace", "usage"},
	"answer/argstream": {},
	"answer/levels":    {},
	"answer/payloads":  {},
	"answer/target":    {"documents"},
	"answer/visible":   {},
	"answer/waits":     {},
	"answer/writes":    {"attempts", "eventlog"},
	"answer/written":   {"answer/argstream", "documents", "eventlog"},
	"approvals":        {"pages"},
	"attempts":         {"eventlog"},
	"chats":            {},
	"clicks":           {"actions", "answer", "leases", "pages"},
	"documents":        {},
	"evaluate":         {},
	"eventlog":         {"segments"},
	"exchange":         {"eventlog", "meters"},
	"guard":            {},
	"leases":           {},
	"meters":           {},
	"modeltext":        {"eventlog"},
	"pages":            {},
	"pages/pagestest":  {"pages"},
	"pdftext":          {},
	"prepare":          {"actions", "answer", "documents", "pages", "prompt"},
	"prompt":           {"pages", "pdftext"},
	"questions":        {"clicks", "documents", "pages", "pdftext", "prompt"},
	"readers":          {"eventlog", "exchange", "meters", "segments"},
	"research":         {},
	"retention":        {},
	"runs":             {"acts", "answer", "answer/waits", "approvals", "attempts", "clicks", "documents", "eventlog", "exchange", "guard", "leases", "meters", "modeltext", "pdftext", "prepare", "prompt", "questions", "readers", "timers", "trace", "trials", "usage", "views"},
	"segments":         {},
	"timers":           {},
	"trace":            {},
	"trials":           {"attempts"},
	"usage":            {},
	"userdata":         {},
	"views":            {"trace"},
}

// agentRooms are the packages of agents and what of agents each may import.
var agentRooms = map[string][]string{
	"agents":                    {},
	"agents/demo":               {"agents"},
	"agents/modeltest":          {"agents", "agents/modeltest/upstream"},
	"agents/modeltest/upstream": {},
	"agents/openai":             {"agents", "agents/openai/plain", "agents/openai/sending", "agents/openai/thoughts"},
	"agents/openai/plain":       {},
	"agents/openai/sending":     {},
	"agents/openai/thoughts":    {},
}

// toolRooms says which packages of tools each of them may import. The rooms of mcp do not
// import one another, and its transports know no tools.
var toolRooms = map[string][]string{
	"tools":               {"tools/outbound"},
	"tools/builtin":       {"tools", "tools/eutils", "tools/outbound", "tools/webpage"},
	"tools/eutils":        {"tools/outbound"},
	"tools/mcp":           {"tools", "tools/mcp/result", "tools/mcp/transport"},
	"tools/mcp/logtest":   {},
	"tools/mcp/result":    {"tools"},
	"tools/mcp/server":    {"tools"},
	"tools/mcp/transport": {"tools/outbound"},
	"tools/outbound":      {},
	"tools/toolstest":     {"tools"},
	"tools/webpage":       {"tools/outbound"},
}

// storeRooms says which packages of store each of them may import: what knows the databases
// knows few tables, and the rooms of tables do not import one another.
var storeRooms = map[string][]string{
	"store":                  {"store/admin", "store/documents", "store/packed", "store/quota", "store/replicas", "store/research", "store/search", "store/sqldb", "store/tables", "store/values"},
	"store/admin":            {"store/sqldb", "store/tables", "store/values"},
	"store/documents":        {"store/quota", "store/sqldb", "store/tables", "store/values"},
	"store/migrations":       {},
	"store/packed":           {},
	"store/quota":            {"store/sqldb"},
	"store/replicas":         {"store/packed", "store/sqldb", "store/tables", "store/values"},
	"store/research":         {"store/sqldb", "store/values"},
	"store/sample":           {},
	"store/search":           {"store/tables", "store/values"},
	"store/sqldb":            {"store/migrations", "store/search", "store/tables", "store/values"},
	"store/storetest":        {"store", "store/documents", "store/research", "store/sqldb", "store/storetest/copies"},
	"store/storetest/copies": {"store/migrations"},
	"store/tables":           {},
	"store/values":           {},
}

// apiRooms says which packages of api each of them may import; none imports api.
var apiRooms = map[string][]string{
	"api":             {"api/auth", "api/bodies", "api/connections", "api/dialects", "api/limits", "api/wires", "api/wires/all", "api/ws"},
	"api/apitest":     {},
	"api/auth":        {},
	"api/bodies":      {"api/limits"},
	"api/connections": {},
	"api/dialects":    {},
	"api/limits":      {},
	"api/ws":          {"api/bodies", "api/dialects", "api/limits"},
}

// maxRoom is how many lines of code a package has at most that is a room, without its tests.
const maxRoom = 2500

// largeRooms may have more: api has a handler for each route, store the one commit that
// writes all tables of runs, and sqldb has each method twice.
var largeRooms = map[string]int{"api": 4000, "store": 6000, "store/sqldb": 3200}

// maxMethods is how many methods an interface of services has at most: a package
// declares what it calls, in small parts.
const maxMethods = 6

func TestRoomsOfServices(t *testing.T) {
	const services = module + "/services/"
	for _, p := range packages(t) {
		from, room := strings.CutPrefix(p.ImportPath, services)
		if !room {
			if p.place() == "services" {
				t.Errorf("services has Go files of its own: %s", strings.Join(p.GoFiles, ", "))
			}
			continue
		}
		allowed, known := rooms[from]
		if !known {
			t.Errorf("services/%s: the table of rooms does not have it", from)
		}
		for _, path := range p.Imports {
			if to, ours := strings.CutPrefix(path, services); ours && !slices.Contains(allowed, to) {
				t.Errorf("services/%s imports services/%s", from, to)
			}
		}
		checkSize(t, p)
	}
}

func TestRoomsOfTools(t *testing.T) { checkRooms(t, "tools", toolRooms) }

func TestRoomsOfAgents(t *testing.T) { checkRooms(t, "agents", agentRooms) }

func TestRoomsOfStore(t *testing.T) { checkRooms(t, "store", storeRooms) }

// TestRoomsOfAPI leaves the wires to TestWires.
func TestRoomsOfAPI(t *testing.T) { checkRooms(t, "api", apiRooms, "api/wires") }

// checkRooms checks what the packages of a folder import of that folder, by a table that
// has them all, and their size. It checks none within those that are left to other tests.
func checkRooms(t *testing.T, folder string, rooms map[string][]string, others ...string) {
	t.Helper()
	for _, p := range packages(t) {
		from := p.place()
		if !beginsWith(from, folder) || within(from, others) {
			continue
		}
		allowed, known := rooms[from]
		if !known {
			t.Errorf("%s: the table of rooms does not have it", from)
		}
		for _, path := range p.Imports {
			if to, ours := strings.CutPrefix(path, module+"/"); ours && beginsWith(to, folder) && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s", from, to)
			}
		}
		checkSize(t, p)
	}
}

// checkSize refuses a room with too many lines; those that only tests import may have more.
func checkSize(t *testing.T, p goPackage) {
	t.Helper()
	room := p.place()
	limit := cmp.Or(largeRooms[room], maxRoom)
	if n := lines(t, p); n > limit && !strings.HasSuffix(room, "test") {
		t.Errorf("%s has %d lines, want at most %d: move a part of it into a package", room, n, limit)
	}
}

// TestSmallInterfaces counts the methods of the interfaces that services declares,
// and refuses those that are made of others.
func TestSmallInterfaces(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.place(), []string{"services"}) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					if n := i.Methods.NumFields(); n > maxMethods {
						t.Errorf("%s/%s: the interface %s has %d methods, want at most %d", p.place(), name, spec.Name, n, maxMethods)
					}
					for _, m := range i.Methods.List {
						if len(m.Names) == 0 {
							t.Errorf("%s/%s: the interface %s embeds another one", p.place(), name, spec.Name)
						}
					}
				}
				return true
			})
		}
	}
}

// lines is how many lines the files of a package have, without its tests.
func lines(t *testing.T, p goPackage) (n int) {
	t.Helper()
	for _, name := range p.GoFiles {
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(data, []byte("\n"))
	}
	return n
}

// TestWires checks the imports of the wires of api: the kit imports only
// schemas, a wire imports schemas and the kit, the list imports the wires; none
// imports other libraries.
func TestWires(t *testing.T) {
	const kit = "api/wires"
	found := 0
	for _, p := range packages(t) {
		from := p.place()
		if !beginsWith(from, kit) {
			continue
		}
		found++
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			first, _, _ := strings.Cut(path, "/")
			switch {
			case !ours && strings.Contains(first, "."):
				t.Errorf("%s imports %s; it has only the standard library", from, path)
			case !ours, beginsWith(to, "schemas"), from != kit && (to == kit || to == kit+"/openaiwire" && from != to), from == kit+"/all" && beginsWith(to, kit):
			default:
				t.Errorf("%s imports %s", from, to)
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d packages of wires, want the kit, a wire and the list", found)
	}
}

func TestVendorLibrariesHaveOneHome(t *testing.T) {
	for _, p := range packages(t) {
		from := p.place()
		for _, path := range p.Imports {
			for library, home := range homes {
				if beginsWith(path, library) && !within(from, home) {
					t.Errorf("%s imports %s, whose home is %s", from, path, strings.Join(home, ", "))
				}
			}
		}
	}
}

func TestOnlyMainReadsTheEnvironment(t *testing.T) {
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			ast.Inspect(parse(t, filepath.Join(p.Dir, name)), func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(readers, s.Sel.Name) {
					return true
				}
				pkg, ok := s.X.(*ast.Ident)
				if ok && (pkg.Name == "os" || pkg.Name == "syscall") && p.place() != "app/apptest" && (p.place() != "" || name != "main.go") {
					t.Errorf("%s/%s calls %s.%s", p.place(), name, pkg.Name, s.Sel.Name)
				}
				return true
			})
		}
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
