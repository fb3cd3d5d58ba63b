// Package builtin has the tools that come with the service.
package builtin

import (
	"errors"
	"net/netip"

	"github.com/chattray/chattray/schemas/turn"
)

// Config selects and configures the built-in tools.
type Config struct {
	PubMed PubMedConfig
	// SearXNG is the URL of a SearXNG server; without it there is no web_search.
	SearXNG string
	// FetchAllow are networks that are exempt from the rules of fetch_webpage.
	FetchAllow []netip.Prefix
	// Research and Payloads are parts of the store; without them their tools
	// are not offered.
	Research research
	Payloads payloads
	// Documents are the users' documents; without them the document tools are not offered.
	Documents documents
	// Models are the names that users may choose from; compare_models needs more than one.
	Models []string
	// Sample adds order_print.
	Sample bool
}

// Optional returns the names of the tools that this service may lack, and that page files may
// name all the same.
func Optional() []string { return []string{"web_search", "compare_models", "order_print"} }

// Tools returns the built-in tools whose services are configured. The error
// joins everything that is wrong with the configuration.
func Tools(c Config) ([]turn.Tool, error) {
	pubmed, err := PubMed(c.PubMed)
	search, err2 := WebSearch(WebSearchConfig{URL: c.SearXNG})
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	out := append(pubmed, search...)
	out = append(out, FetchWebpage(FetchConfig{Allow: c.FetchAllow})...)
	out = append(out, Research(c.Research)...)
	out = append(out, Documents(c.Documents)...)
	out = append(out, Questions()...)
	out = append(out, CompareModels(c.Models)...)
	if c.Sample {
		out = append(out, Sample()...)
	}
	return append(out, Payloads(c.Payloads)...), nil
}
