package openaiwire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// Model is a model as OpenAI's clients list it.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// owner is the id of the model without a page, and the prefix of the others.
const owner = "chattray"

// created is when the models are said to have been made: 2026-01-01.
const created = 1_767_225_600

// Models returns the models: one without a page and one for each page. If the service
// offers several models, each of these is also there with each model of the service.
func Models(s *wires.Service) []Model {
	var list []Model
	add := func(id string) {
		list = append(list, Model{ID: id, Object: "model", Created: created, OwnedBy: owner})
	}
	bases := []string{owner}
	for _, p := range s.Pages() {
		bases = append(bases, owner+"/"+p.Page)
	}
	for _, id := range bases {
		add(id)
	}
	if len(s.Models) > 1 {
		for _, id := range bases {
			for _, m := range s.Models {
				add(id + "@" + m.Name)
			}
		}
	}
	return list
}

// Named returns the page and the service's model that a model id names, both "" for the
// defaults. The name of one of the service's models is an id too.
func Named(s *wires.Service, id string) (page, model string, err error) {
	offered := func(name string) bool {
		return slices.ContainsFunc(s.Models, func(m schemas.ModelOffer) bool { return m.Name == name })
	}
	switch {
	case id == "":
		return "", "", schemas.Invalid("/model", "is required")
	case offered(id):
		return "", id, nil
	}
	fits := func(name string) bool {
		rest, ok := strings.CutPrefix(id, name)
		if !ok {
			return false
		}
		if rest == "" {
			return true
		}
		after, at := strings.CutPrefix(rest, "@")
		if at && offered(after) {
			model = after
			return true
		}
		return false
	}
	for _, p := range s.Pages() {
		for _, name := range append([]string{p.Page}, p.Aliases...) {
			if fits(owner + "/" + name) {
				return p.Page, model, nil
			}
		}
	}
	if fits(owner) {
		return "", model, nil
	}
	return "", "", &Refusal{Status: http.StatusNotFound, Code: "model_not_found", Param: "/model", Text: "there is no model of this name; GET /v1/models lists them"}
}
