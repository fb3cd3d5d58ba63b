package pages

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/turn"
)

// maxClientSchema is the size of a client tool's schema in bytes.
const maxClientSchema = 32 << 10

// intoDocument tells a model that its answer goes into a document; ContentNote
// adds how content of the block's type is written.
const intoDocument = "\n\nYour answer's text is written into the user's document as it is. Write only what belongs there: no greeting, no remarks about it."

// documentNote is what a model is told that may write the document beside its page
// with these tools, named by what they do.
func documentNote(tools []turn.Tool) string {
	named := func(does func(t *turn.Tool) bool) string {
		for i := range tools {
			if does(&tools[i]) {
				return tools[i].Name
			}
		}
		return ""
	}
	plan := named(func(t *turn.Tool) bool { return t.Replans })
	write := named(func(t *turn.Tool) bool { return t.Streams != nil && !t.Streams.MustExist })
	edit := named(func(t *turn.Tool) bool { return t.Streams != nil && t.Streams.MustExist })
	var ways []string
	if plan != "" && write != "" {
		ways = append(ways, plan+" and then "+write+" for each planned block for a new one")
	}
	if edit != "" {
		ways = append(ways, edit+" to change one")
	}
	if len(ways) == 0 {
		return ""
	}
	return "\n\nThe user has a document beside this page. When they want something written or changed there, use the document tools: " +
		strings.Join(ways, ", ") + ". What you write waits until the user accepts or reverts it."
}

// ContentNote returns how the content of a block of that type is written.
func ContentNote(kind string) string {
	const only = "\nThe answer is not Markdown, whatever the guidelines say: write no heading, no code fence and nothing before or after it. "
	switch kind {
	case "", schemas.BlockMarkdown:
		return "\nThe block is Markdown."
	case schemas.BlockCSV:
		return only + "The block is a table: write CSV (RFC 4180), the header with the names of the columns in the first row."
	case schemas.BlockChart:
		return only + "The block is a chart: write its header as one JSON object on the first line, a Vega-Lite specification without data, then its data as CSV " +
			"with the names of the columns in the first row. Without the first line the chart keeps its header."
	}
	return only + "The block has the type " + kind + ": write only content of that type."
}

// AboutNote returns what a model is told whose user's message is about these blocks of a
// document, while its answer goes to the chat.
func AboutNote(blocks []string) string {
	if len(blocks) == 0 {
		return ""
	}
	return "\n\nThe user's message is about these blocks of the document: " + strings.Join(blocks, ", ") +
		". Your answer's text does not go there: to change one, use the document tools."
}

// OfferFor returns what the place in a request's context offers, with the tools that
// the client runs. The mode agent adds the tools of documents. If the answer
// itself is written into a document, the offer has no tools that write
// documents, and a Note says so. A client tool that cannot be offered is left
// out: CheckClientTools tells the client.
func (p *Pages) OfferFor(c schemas.Object, defs []schemas.ClientTool, user schemas.User) (Offer, error) {
	offer, err := p.Resolve(c.String("current_page"), c.String("active_tab"), c.String("active_subtab"), user)
	if err != nil {
		return offer, err
	}
	if document, _ := turn.Answer(c); document != "" {
		offer.Note = intoDocument
		offer.Tools = slices.DeleteFunc(slices.Clone(offer.Tools), func(t turn.Tool) bool { return t.Document })
	}
	if c.String(turn.ContextMode) == "agent" && offer.Page != turn.DocumentPage {
		documents, err := p.Resolve(turn.DocumentPage, "", "", user)
		if err != nil {
			return offer, err
		}
		offer.Note = documentNote(documents.Tools)
		offer.Tools = withOthers(offer.Tools, documents.Tools)
	}
	offer.Tools = p.withClientTools(offer.Tools, defs)
	return offer, nil
}

// withOthers adds the tools that have none of the list's names.
func withOthers(list, more []turn.Tool) []turn.Tool {
	out := slices.Clone(list)
	for _, t := range more {
		if !slices.ContainsFunc(list, func(has turn.Tool) bool { return has.Name == t.Name }) {
			out = append(out, t)
		}
	}
	return out
}

// withClientTools adds the client's tools, except those with the name of
// another tool.
func (p *Pages) withClientTools(offered []turn.Tool, defs []schemas.ClientTool) []turn.Tool {
	if p.makeClientTool == nil {
		return offered
	}
	for _, def := range defs {
		if slices.ContainsFunc(offered, func(t turn.Tool) bool { return t.Name == def.Name }) {
			continue
		}
		if t, err := p.makeClientTool(def); err == nil {
			offered = append(offered, t)
		}
	}
	return offered
}

// CheckClientTools refuses client tools that cannot be offered together with
// these tools: those with the name of another tool, or without a schema within
// the limits.
func (p *Pages) CheckClientTools(offered []turn.Tool, defs []schemas.ClientTool) error {
	taken := make(map[string]bool)
	for _, t := range offered {
		taken[t.Name] = true
	}
	refused := &schemas.Error{Code: schemas.CodeInvalid, Message: "the request is not valid"}
	for i, def := range defs {
		if field, why := p.clientToolFault(def, taken[def.Name]); why != "" {
			refused.Fields = append(refused.Fields, schemas.FieldError{Pointer: "/client_tools/" + strconv.Itoa(i) + "/" + field, Detail: why})
		}
		taken[def.Name] = true
	}
	if len(refused.Fields) > 0 {
		return refused
	}
	return nil
}

// clientToolFault returns what is wrong with a client tool, and where; why is
// empty if nothing is wrong.
func (p *Pages) clientToolFault(def schemas.ClientTool, taken bool) (field, why string) {
	switch {
	case taken:
		return "name", "is the name of another tool"
	case strings.Contains(def.Name, "__"):
		return "name", "must not contain __"
	case len(def.InputSchema) > maxClientSchema:
		return "input_schema", "must have at most 32 KiB"
	case p.makeClientTool == nil:
		return "name", "client tools are not supported here"
	case len(def.InputSchema) == 0:
		return "input_schema", "is required"
	}
	_, err := p.makeClientTool(def)
	if at, ok := errors.AsType[*jsonlimit.Fault](err); ok {
		return "input_schema" + at.Pointer, at.Detail
	}
	if err != nil {
		return "input_schema", "must be a JSON schema of type object"
	}
	return "", ""
}
