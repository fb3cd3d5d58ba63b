package pages

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// merge overlays the bundled pages with the folder's. A page of the folder
// replaces the bundled page of the same name, and its names are removed from
// the aliases of bundled pages; other clashes are mistakes.
func (l *pageLoader) merge(bundled, folder []*pageFile) []*pageFile {
	taken := make(map[string]string) // name or alias: file
	for _, f := range folder {
		taken[f.name] = f.file
		for _, alias := range f.aliases {
			taken[alias.text] = f.file
		}
	}
	own := make(map[string]bool)
	for _, f := range folder {
		own[f.name] = true
	}
	files := slices.Clone(folder)
	for _, f := range bundled {
		if own[f.name] {
			continue
		}
		f.aliases = slices.DeleteFunc(f.aliases, func(a pageWord) bool { return taken[a.text] != "" })
		files = append(files, f)
	}
	l.uniqueNames(files)
	return files
}

func (l *pageLoader) uniqueNames(files []*pageFile) {
	owner := make(map[string]string)
	for _, f := range files {
		if other, ok := owner[f.name]; ok {
			l.wrong(f.file, f.line, "page %q is declared in %s too", f.name, other)
			continue
		}
		owner[f.name] = f.file
	}
	for _, f := range files {
		for _, alias := range f.aliases {
			if other, ok := owner[alias.text]; ok {
				l.wrong(f.file, alias.line, "alias %q is a name or an alias of the page in %s", alias.text, other)
				continue
			}
			owner[alias.text] = f.file
		}
	}
}

// settingsFile is shown as the file of a mistake in the setting that names pages.
const settingsFile = "the setting mcp_servers"

// addPageTools adds the tools that the settings name for pages.
func (l *pageLoader) addPageTools(files []*pageFile) {
	for _, name := range slices.Sorted(maps.Keys(l.parts.PageTools)) {
		i := slices.IndexFunc(files, func(f *pageFile) bool {
			return f.name == name || slices.ContainsFunc(f.aliases, func(a pageWord) bool { return a.text == name })
		})
		if i < 0 {
			l.wrong(settingsFile, 0, "there is no page %q", name)
			continue
		}
		for _, tool := range l.parts.PageTools[name] {
			if !l.parts.Tools.Has(tool) {
				l.wrong(settingsFile, 0, "unknown tool %q for the page %q", tool, name)
				continue
			}
			files[i].registryTools = append(files[i].registryTools, tool)
		}
	}
}

// globalOffer is what every page offers.
func (l *pageLoader) globalOffer() pageOffer {
	return pageOffer{
		Offer: Offer{PayloadTypes: l.parts.Payloads.Globals(), Actions: []schemas.Action{closeChat}},
		types: make(map[string]turn.PayloadType),
	}
}

// pageDeclared is what a file declares for its own use.
type pageDeclared struct {
	types map[string]turn.PayloadType
	tools map[string]turn.Tool
	// namedTypes and namedTools are those that a level of the file names; the
	// others belong to the level that declares them.
	namedTypes, namedTools map[string]bool
}

// compile looks up everything a file names, and returns its offers by tab and
// subtab.
func (l *pageLoader) compile(f *pageFile, global pageOffer) map[[2]string]pageOffer {
	d := l.declared(f)
	f.walk(func(level *pageLevel) { l.lookUp(f, level, d) })
	page := l.with(f, global, &f.pageLevel)
	page.types = d.types
	offers := map[[2]string]pageOffer{{}: page}
	for _, tab := range f.children {
		tabOffer := l.with(f, page, tab)
		offers[[2]string{tab.name, ""}] = tabOffer
		for _, sub := range tab.children {
			offers[[2]string{tab.name, sub.name}] = l.with(f, tabOffer, sub)
		}
	}
	return offers
}

// walk calls each for the page and all levels inside it.
func (l *pageLevel) walk(each func(*pageLevel)) {
	each(l)
	for _, child := range l.children {
		child.walk(each)
	}
}

// declared makes the file's own payload types and then its HTTP tools, which
// may name them.
func (l *pageLoader) declared(f *pageFile) pageDeclared {
	d := pageDeclared{
		types: make(map[string]turn.PayloadType), tools: make(map[string]turn.Tool),
		namedTypes: make(map[string]bool), namedTools: make(map[string]bool),
	}
	f.walk(func(level *pageLevel) {
		for _, w := range level.payloads {
			d.namedTypes[w.text] = true
		}
		for _, w := range level.tools {
			d.namedTools[w.text] = true
		}
		for _, p := range level.newTypes {
			l.makeType(f, p, d)
		}
	})
	f.walk(func(level *pageLevel) {
		for _, t := range level.newTools {
			l.makeTool(f, t, d)
		}
	})
	return d
}

func (l *pageLoader) makeType(f *pageFile, p pagePayload, d pageDeclared) {
	if _, ok := l.parts.Payloads.Type(p.Name); ok {
		l.wrong(f.file, p.line, "the payload type %q already exists", p.Name)
		return
	}
	if _, ok := d.types[p.Name]; ok {
		l.wrong(f.file, p.line, "payload type %q is declared twice", p.Name)
		return
	}
	if l.parts.MakePayloadType == nil {
		l.wrong(f.file, p.line, "payload types cannot be declared here")
		return
	}
	made, err := l.parts.MakePayloadType(p.PayloadDef)
	if err != nil {
		l.wrong(f.file, p.line, "%s", flat(err))
	}
	d.types[p.Name] = made // even an invalid type, so that its uses are not reported too
}

func (l *pageLoader) makeTool(f *pageFile, t pageTool, d pageDeclared) {
	if l.parts.Tools.Has(t.Name) {
		l.wrong(f.file, t.line, "the tool %q already exists", t.Name)
		return
	}
	if _, ok := d.tools[t.Name]; ok {
		l.wrong(f.file, t.line, "tool %q is declared twice", t.Name)
		return
	}
	if l.parts.MakeHTTPTool == nil {
		l.wrong(f.file, t.line, "HTTP tools cannot be declared here")
		return
	}
	l.fillHeaders(f, &t)
	if t.PayloadType != "" && !l.knowsType(t.PayloadType, d) {
		l.wrong(f.file, t.line, "tool %q makes the unknown payload type %q", t.Name, t.PayloadType)
	}
	made, err := l.parts.MakeHTTPTool(t.HTTPTool)
	if err != nil {
		l.wrong(f.file, t.line, "tool %q: %s", t.Name, flat(err))
	}
	d.tools[t.Name] = made
}

func (l *pageLoader) knowsType(name string, d pageDeclared) bool {
	if _, ok := d.types[name]; ok {
		return true
	}
	_, ok := l.parts.Payloads.Type(name)
	return ok
}

var secretName = regexp.MustCompile(`\$\{([^{}]*)\}`)

func (l *pageLoader) fillHeaders(f *pageFile, t *pageTool) {
	for name, value := range t.Headers {
		if strings.Contains(value, "{{") {
			l.wrong(f.file, t.headerLine[name], "the header %s must not have placeholders; only url and body have them", name)
		}
		t.Headers[name] = l.fillSecrets(f, t.headerLine[name], value)
	}
}

// fillSecrets replaces ${name} by the settings' values.
func (l *pageLoader) fillSecrets(f *pageFile, line int, value string) string {
	return secretName.ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		if l.parts.Secret != nil {
			if s, ok := l.parts.Secret(name); ok {
				return s
			}
		}
		l.wrong(f.file, line, "the settings have no secret %q", name)
		return ""
	})
}

// noServer says, of an unknown tool named like one of an MCP server, that there is no such server.
func noServer(tool string) string {
	server, _, ok := strings.Cut(tool, ofGroups)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; mcp_servers in the settings has no server %q", server)
}

// lookUp resolves what a level names.
func (l *pageLoader) lookUp(f *pageFile, level *pageLevel, d pageDeclared) {
	for _, w := range level.tools {
		switch made, own := d.tools[w.text]; {
		case own:
			level.madeTools = append(level.madeTools, made)
		case l.parts.Tools.Has(w.text):
			level.registryTools = append(level.registryTools, w.text)
		default:
			l.wrong(f.file, w.line, "unknown tool %q%s", w.text, noServer(w.text))
		}
	}
	for _, t := range level.newTools {
		if made, ok := d.tools[t.Name]; ok && !d.namedTools[t.Name] {
			level.madeTools = append(level.madeTools, made)
		}
	}
	for _, w := range level.payloads {
		t, ok := d.types[w.text]
		if !ok {
			t, ok = l.parts.Payloads.Type(w.text)
		}
		if !ok {
			l.wrong(f.file, w.line, "unknown payload type %q", w.text)
			continue
		}
		level.types = append(level.types, t)
	}
	for _, p := range level.newTypes {
		if made, ok := d.types[p.Name]; ok && !d.namedTypes[p.Name] {
			level.types = append(level.types, made)
		}
	}
	l.checkActions(f, level, d)
	if b := level.builder; b.text != "" && !slices.Contains(l.parts.ContextBuilders, b.text) {
		l.wrong(f.file, b.line, "unknown context builder %q; there are: %s", b.text, strings.Join(l.parts.ContextBuilders, ", "))
	}
}

func (l *pageLoader) checkActions(f *pageFile, level *pageLevel, d pageDeclared) {
	seen := make(map[string]bool)
	for i := range level.actions {
		a := &level.actions[i]
		name := a.Action.Action
		switch {
		case name == "":
			l.wrong(f.file, a.line, "an action needs a name in the key action")
		case seen[name]:
			l.wrong(f.file, a.line, "action %q is declared twice", name)
		case a.Handler != handlerClient && a.Handler != handlerServer:
			l.wrong(f.file, a.line, "handler of action %q must be client or server, not %q", name, a.Handler)
		case a.http != nil:
			l.makeAction(f, level, a, d)
		case a.Handler == handlerServer && !slices.Contains(l.parts.ServerActions, name):
			l.wrong(f.file, a.line, "action %q has no handler on the server; those that have: %s, and those with http", name, strings.Join(l.parts.ServerActions, ", "))
		case name == closeChat.Action && a.Handler != handlerClient:
			l.wrong(f.file, a.line, "action %q is handled by the client", name)
		}
		if a.PayloadType != "" && !l.knowsType(a.PayloadType, d) {
			l.wrong(f.file, a.line, "action %q accepts the unknown payload type %q", name, a.PayloadType)
		}
		seen[name] = true
	}
}

// makeAction makes the handler of an action with an HTTP request.
func (l *pageLoader) makeAction(f *pageFile, level *pageLevel, a *pageAction, d pageDeclared) {
	name := a.Action.Action
	switch {
	case a.Handler != handlerServer:
		l.wrong(f.file, a.line, "action %q has http, so its handler is server", name)
		return
	case slices.Contains(l.parts.ServerActions, name) || name == closeChat.Action:
		l.wrong(f.file, a.line, "action %q already has a handler and must not have http", name)
		return
	case l.parts.MakeHTTPAction == nil:
		l.wrong(f.file, a.line, "actions with http cannot be declared here")
		return
	}
	a.http.Name, a.http.Description = name, a.Description
	l.fillHeaders(f, a.http)
	if a.http.PayloadType != "" && !l.knowsType(a.http.PayloadType, d) {
		l.wrong(f.file, a.line, "action %q makes the unknown payload type %q", name, a.http.PayloadType)
	}
	made, err := l.parts.MakeHTTPAction(a.http.HTTPTool)
	if err != nil {
		l.wrong(f.file, a.http.line, "action %q: %s", name, flat(err))
	}
	a.Schema = made.InputSchema
	level.madeActions = append(level.madeActions, made)
}

// with returns the offer of a level inside a place that offers outer.
func (l *pageLoader) with(f *pageFile, outer pageOffer, level *pageLevel) pageOffer {
	o := outer
	if level.identity != "" {
		o.Identity = level.identity
	}
	if level.builder.text != "" {
		o.ContextBuilder = level.builder.text
	}
	if level.template.text != "" {
		t, err := parseContextTemplate(f.name, level.template.text)
		if err != nil {
			l.wrong(f.file, level.template.line, "template: %s", flat(err))
		}
		o.ContextTemplate = t
	}
	o.names = addEach(o.names, level.registryTools, func(s string) string { return s })
	o.own = addEach(o.own, level.madeTools, func(t turn.Tool) string { return t.Name })
	o.PayloadTypes = addEach(o.PayloadTypes, level.types, func(t turn.PayloadType) string { return t.Name })
	o.set = l.setArguments(f, &o, level)
	o.Actions = addEach(o.Actions, level.wireActions(), func(a schemas.Action) string { return a.Action })
	o.Handlers = addEach(o.Handlers, level.madeActions, func(t turn.Tool) string { return t.Name })
	l.checkMarkers(f, level, o.PayloadTypes)
	return o
}

// addEach returns list with more appended, each key once: a later item takes the
// place of the earlier one.
func addEach[T any](list, more []T, key func(T) string) []T {
	out := slices.Clone(list)
	for _, item := range more {
		i := slices.IndexFunc(out, func(other T) bool { return key(other) == key(item) })
		if i < 0 {
			out = append(out, item)
			continue
		}
		out[i] = item
	}
	return out
}

// checkMarkers reports two types with the same marker.
func (l *pageLoader) checkMarkers(f *pageFile, level *pageLevel, types []turn.PayloadType) {
	if len(level.types) == 0 {
		return
	}
	byMarker := make(map[string]string)
	for _, t := range types {
		if t.Marker == "" {
			continue
		}
		if other, ok := byMarker[t.Marker]; ok {
			l.wrong(f.file, level.line, "payload types %q and %q have the same marker %s", other, t.Name, t.Marker)
		}
		byMarker[t.Marker] = t.Name
	}
}

// flat is an error's text on one line.
func flat(err error) string {
	return text.OneLine(strings.ReplaceAll(fmt.Sprint(err), "\n", "; "))
}
