package runs

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
)

// offer is what the request's page, tab and subtab allow.
func (r *Runs) offer(req *schemas.ChatRequest, user schemas.User) (pages.Offer, error) {
	c := req.Context
	offer, err := r.Pages.Resolve(c.String("current_page"), c.String("active_tab"), c.String("active_subtab"), user)
	if err == nil {
		offer.Tools = r.withClientTools(forMode(offer.Tools, c), req.ClientTools)
	}
	return offer, err
}

// intoDocument is what a model is told whose answer goes into a document.
const intoDocument = "\n\nYour answer's text is written into the user's document as it is. Write only what belongs there: no greeting, no remarks about it."

// forMode leaves out the tools that write the document where the answer itself
// is written into it.
func forMode(tools []turn.Tool, page schemas.Object) []turn.Tool {
	if document, _ := turn.Answer(page); document == "" {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t turn.Tool) bool { return t.Document })
}

// modeNote is what the prompt adds for the mode.
func modeNote(page schemas.Object) string {
	if document, _ := turn.Answer(page); document == "" {
		return ""
	}
	return intoDocument
}

// checkClientTools refuses tools of the page that cannot be offered: those with
// the name of another one, or without a schema within the limits.
func (r *Runs) checkClientTools(req *schemas.ChatRequest, user schemas.User) error {
	if len(req.ClientTools) == 0 {
		return nil
	}
	bare := *req
	bare.ClientTools = nil
	offer, err := r.offer(&bare, user)
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for _, t := range offer.Tools {
		taken[t.Name] = true
	}
	refused := &schemas.Error{Code: schemas.CodeInvalid, Message: "the request is not valid"}
	for i, def := range req.ClientTools {
		if field, why := r.clientToolFault(def, taken[def.Name]); why != "" {
			refused.Fields = append(refused.Fields, schemas.FieldError{Pointer: "/client_tools/" + strconv.Itoa(i) + "/" + field, Detail: why})
		}
		taken[def.Name] = true
	}
	if len(refused.Fields) > 0 {
		return refused
	}
	return nil
}

// clientToolFault says what is wrong with a tool of the page, and where.
func (r *Runs) clientToolFault(def schemas.ClientTool, taken bool) (field, why string) {
	switch {
	case taken:
		return "name", "is the name of another tool"
	case strings.Contains(def.Name, "__"):
		return "name", "must not contain __"
	case len(def.InputSchema) > maxClientSchema:
		return "input_schema", "must have at most 32 KiB"
	case r.MakeClientTool == nil:
		return "name", "tools of the page are not taken here"
	}
	if len(def.InputSchema) == 0 {
		return "input_schema", "is required"
	}
	_, err := r.MakeClientTool(def)
	if at, ok := errors.AsType[*jsonlimit.Fault](err); ok {
		return "input_schema" + at.Pointer, at.Detail
	}
	if err != nil {
		return "input_schema", "must be a JSON schema of type object"
	}
	return "", ""
}

// withClientTools adds the tools of the page to those that are offered. What
// cannot be offered any more, for a run that an earlier process began, is left
// out.
func (r *Runs) withClientTools(offered []turn.Tool, defs []schemas.ClientTool) []turn.Tool {
	if r.MakeClientTool == nil {
		return offered
	}
	for _, def := range defs {
		if slices.ContainsFunc(offered, func(t turn.Tool) bool { return t.Name == def.Name }) {
			continue
		}
		if t, err := r.MakeClientTool(def); err == nil {
			offered = append(offered, t)
		}
	}
	return offered
}
