// Package pages owns what each page offers to its chat: it reads the page files,
// checks everything in them at the start, and resolves a place to its offer.
package pages

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

//go:embed *.yaml
var bundled embed.FS

// Tools resolves tools for pages; tools.Registry is one.
type Tools interface {
	// Has reports whether a tool of that name is known, even if it is not
	// offered now.
	Has(name string) bool
	// Tool returns a tool that never changes.
	Tool(name string) (turn.Tool, bool)
	// Resolve returns the global tools and the named ones, each once, except
	// for those that are not configured or that the user may not use.
	Resolve(names []string, user schemas.User) ([]turn.Tool, error)
}

// Payloads knows payload types; payloads.Registry is one.
type Payloads interface {
	Type(name string) (turn.PayloadType, bool)
	// Globals are the types that are allowed on every page.
	Globals() []turn.PayloadType
}

// Sources names the places of page files.
type Sources struct {
	// Bundled holds files *.yaml at its root; nil means the bundled pages.
	Bundled fs.FS
	// Dir is a folder of files *.yaml that add to and override the bundled
	// pages; empty is none.
	Dir string
}

// Parts are the parts that page files may name. Tools and Payloads must be set;
// a file that needs a function that is not set has a mistake.
type Parts struct {
	Tools    Tools
	Payloads Payloads
	// SetArguments makes a tool with arguments that a file sets.
	SetArguments func(t turn.Tool, set schemas.Object) (turn.Tool, error)
	// MakeHTTPTool makes a tool that a file declares.
	MakeHTTPTool func(turn.HTTPTool) (turn.Tool, error)
	// MakeClientTool makes a tool that the client runs; nil takes none.
	MakeClientTool func(def schemas.ClientTool) (turn.Tool, error)
	// MakeHTTPAction makes the handler of an action that a file declares: a tool under
	// the action's name that no model can call.
	MakeHTTPAction func(turn.HTTPTool) (turn.Tool, error)
	// MakePayloadType makes a payload type that a file declares.
	MakePayloadType func(turn.PayloadDef) (turn.PayloadType, error)
	// Secret returns the settings' value for ${name} in the headers of an HTTP
	// tool.
	Secret func(name string) (string, bool)
	// PageTools are further tools of pages besides the tools of their files, by
	// the page's name or alias.
	PageTools map[string][]string
	// ServerActions are the names of the actions with a handler.
	ServerActions []string
	// ContextBuilders are the names that `builder:` may have.
	ContextBuilders []string
}

// Pages knows what each page offers to its chat. It is made once at the start,
// never changes, and is safe for concurrent use.
type Pages struct {
	tools          Tools
	payloads       Payloads
	makeClientTool func(schemas.ClientTool) (turn.Tool, error)
	byName         map[string]*pageEntry // names and aliases
	names          []string              // sorted, without aliases
	unknown        pageOffer
}

// Offer is what one turn on a page, tab and subtab may use. The slices may be
// appended to; their elements must not be changed.
type Offer struct {
	// Page is the page's own name, even if the request used an alias.
	Page, Tab, Subtab string
	// Identity is the text of the nearest level that has one; empty is the
	// default identity.
	Identity string
	// ContextBuilder names the builder; empty is none.
	ContextBuilder string
	// ContextTemplate is nil when there is none; ContextText executes it.
	ContextTemplate *text.Template
	// Tools are the global tools and the tools of page, tab and subtab, each
	// name once.
	Tools []turn.Tool
	// PayloadTypes are the global types, the types of page, tab and subtab, and the
	// types that Tools make.
	PayloadTypes []turn.PayloadType
	// Actions are the declared ones and the global close_chat.
	Actions []schemas.Action
	// Note is text at the end of the system prompt; empty is none.
	Note string
	// Handlers do the actions that page files handle, by the action's name.
	Handlers []turn.Tool
}

// closeChat is the action that every page has.
var closeChat = schemas.Action{Action: "close_chat", Description: "Closes the chat.", Handler: handlerClient}

// The handlers of an action.
const (
	handlerClient = "client"
	handlerServer = "server"
)

// pageEntry is a page with what it offers at each place.
type pageEntry struct {
	file   *pageFile
	offers map[[2]string]pageOffer // by tab and subtab
}

// pageOffer is an Offer whose registry tools are not resolved yet.
type pageOffer struct {
	Offer
	names []string    // names of tools in the registry
	own   []turn.Tool // tools of the page file
	set   []setTool   // tools with arguments that the page file sets
	types map[string]turn.PayloadType
}

// Load reads the page files and checks everything in them. The error joins
// every mistake in every file, each with file and line; there are then no pages.
func Load(src Sources, parts Parts) (*Pages, error) {
	if src.Bundled == nil {
		src.Bundled = bundled
	}
	l := &pageLoader{parts: parts}
	files := l.merge(l.readBundled(src.Bundled), l.readFolder(src.Dir))
	l.addPageTools(files)
	p := &Pages{tools: parts.Tools, payloads: parts.Payloads, makeClientTool: parts.MakeClientTool, byName: make(map[string]*pageEntry)}
	p.unknown = l.globalOffer()
	for _, f := range files {
		entry := &pageEntry{file: f, offers: l.compile(f, p.unknown)}
		p.names = append(p.names, f.name)
		p.byName[f.name] = entry
		for _, alias := range f.aliases {
			p.byName[alias.text] = entry
		}
	}
	slices.Sort(p.names)
	if err := l.err(); err != nil {
		return nil, err
	}
	for _, f := range files {
		if _, err := p.Resolve(f.name, "", "", schemas.User{}); err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
	}
	return p, nil
}

// Resolve returns what a place offers to the user. A page, tab or subtab that
// no file describes is not an error: an unknown tab has the offer of its page,
// an unknown page has the default identity and the global tools, payload types
// and actions. Errors come from the tool registry.
func (p *Pages) Resolve(page, tab, subtab string, user schemas.User) (Offer, error) {
	o := p.unknown
	if entry := p.byName[page]; entry != nil {
		o = entry.at(tab, subtab)
		page = entry.file.name
	}
	out := o.Offer
	out.Page, out.Tab, out.Subtab = page, tab, subtab
	tools, err := p.tools.Resolve(o.names, user)
	if err != nil {
		return Offer{}, err
	}
	out.Tools = o.withArguments(slices.Concat(tools, o.own))
	out.Actions, out.Handlers = slices.Clip(o.Actions), slices.Clip(o.Handlers)
	out.PayloadTypes = p.withToolPayloads(slices.Clip(o.PayloadTypes), o, out.Tools)
	return out, nil
}

// at returns the offer of the nearest place that the page describes.
func (e *pageEntry) at(tab, subtab string) pageOffer {
	for _, place := range [][2]string{{tab, subtab}, {tab, ""}} {
		if o, ok := e.offers[place]; ok {
			return o
		}
	}
	return e.offers[[2]string{}]
}

// withToolPayloads adds the payload types that the tools make to types.
func (p *Pages) withToolPayloads(types []turn.PayloadType, o pageOffer, tools []turn.Tool) []turn.PayloadType {
	for _, tool := range tools {
		has := func(t turn.PayloadType) bool { return t.Name == tool.PayloadType }
		if tool.PayloadType == "" || slices.ContainsFunc(types, has) {
			continue
		}
		t, ok := o.types[tool.PayloadType]
		if !ok {
			t, ok = p.payloads.Type(tool.PayloadType)
		}
		if ok {
			types = append(types, t)
		}
	}
	return types
}

// Tools returns the tools of a place as GET /api/tools shows them.
func (p *Pages) Tools(page, tab, subtab string, user schemas.User) ([]schemas.Tool, error) {
	o, err := p.Resolve(page, tab, subtab, user)
	if err != nil {
		return nil, err
	}
	list := make([]schemas.Tool, len(o.Tools))
	for i, t := range o.Tools {
		list[i] = schemas.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema}
	}
	return list, nil
}

// Words returns the texts that users read about the tool of that name.
func (p *Pages) Words(name string, user schemas.User) turn.Words {
	t, _ := p.Tool(name, user)
	return t.Words
}

// Tool returns the tool of that name: a tool of the registry that the user may
// use, else one that a page file declares.
func (p *Pages) Tool(name string, user schemas.User) (turn.Tool, bool) {
	named := func(t turn.Tool) bool { return t.Name == name }
	if p.tools.Has(name) {
		if list, err := p.tools.Resolve([]string{name}, user); err == nil {
			if i := slices.IndexFunc(list, named); i >= 0 {
				return list[i], true
			}
		}
	}
	for _, page := range p.names {
		for _, offer := range p.byName[page].offers {
			if i := slices.IndexFunc(offer.own, named); i >= 0 {
				return offer.own[i], true
			}
		}
	}
	return turn.Tool{}, false
}

// DeclaresAction reports whether some page declares the action.
func (p *Pages) DeclaresAction(name string) bool {
	for _, page := range p.byName {
		for _, offer := range page.offers {
			if slices.ContainsFunc(offer.Actions, func(a schemas.Action) bool { return a.Action == name }) {
				return true
			}
		}
	}
	return false
}

// List returns all pages by name, as GET /api/pages shows them.
func (p *Pages) List() []schemas.Page {
	list := make([]schemas.Page, 0, len(p.names))
	for _, name := range p.names {
		page, _ := p.Page(name)
		list = append(list, page)
	}
	return list
}

// Page returns the page of that name or alias. It has the global parts and
// those it declares, without tools that need a role; tabs and subtabs have only
// the parts that they add.
func (p *Pages) Page(name string) (schemas.Page, bool) {
	entry := p.byName[name]
	if entry == nil {
		return schemas.Page{}, false
	}
	o, err := p.Resolve(name, "", "", schemas.User{})
	if err != nil { // a tool has been removed since the start
		o = entry.at("", "").Offer
	}
	f := entry.file
	page := schemas.Page{
		Page: f.name, Aliases: []string{}, Tools: []string{}, Actions: o.Actions,
		PayloadTypes: wirePayloadTypes(o.PayloadTypes), Tabs: []schemas.Tab{},
	}
	for _, alias := range f.aliases {
		page.Aliases = append(page.Aliases, alias.text)
	}
	for _, t := range o.Tools {
		page.Tools = append(page.Tools, t.Name)
	}
	for _, tab := range f.children {
		t := schemas.Tab{
			Tab: tab.name, Tools: tab.toolNames(), PayloadTypes: wirePayloadTypes(tab.types),
			Actions: tab.wireActions(), Subtabs: []schemas.Subtab{},
		}
		for _, sub := range tab.children {
			t.Subtabs = append(t.Subtabs, schemas.Subtab{
				Subtab: sub.name, Tools: sub.toolNames(), PayloadTypes: wirePayloadTypes(sub.types), Actions: sub.wireActions(),
			})
		}
		page.Tabs = append(page.Tabs, t)
	}
	return page, true
}

func wirePayloadTypes(types []turn.PayloadType) []schemas.PayloadType {
	list := make([]schemas.PayloadType, len(types))
	for i, t := range types {
		list[i] = schemas.PayloadType{Name: t.Name, Source: t.Source, Description: t.Description, Schema: t.Schema, ParseMarker: t.Marker}
	}
	return list
}

func (l *pageLevel) toolNames() []string {
	names := slices.Clone(l.registryTools)
	for _, t := range l.madeTools {
		names = append(names, t.Name)
	}
	return append([]string{}, names...)
}

func (l *pageLevel) wireActions() []schemas.Action {
	list := make([]schemas.Action, len(l.actions))
	for i, a := range l.actions {
		list[i] = a.Action
	}
	return list
}
