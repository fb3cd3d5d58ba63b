package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/outbound"
	"github.com/chattray/chattray/tools/webpage"
)

// typeWebPage is the payload type of fetch_webpage.
const typeWebPage = "webpage_content"

// FetchConfig configures fetch_webpage.
type FetchConfig struct {
	// Allow are networks that are exempt from the rules for addresses and ports
	// (fetch.allow).
	Allow []netip.Prefix
	// Extractor finds the main part of a page; nil means the default of
	// webpage.Reader.
	Extractor webpage.Extractor
	// HTTP sends the requests; nil means a guarded client.
	HTTP *http.Client
}

// FetchWebpage returns fetch_webpage, which reads public pages.
func FetchWebpage(c FetchConfig) []turn.Tool {
	client := c.HTTP
	if client == nil {
		client = outbound.New(outbound.Config{Allow: c.Allow})
	}
	f := fetcher{webpage.Reader{Client: client, Extractor: c.Extractor}}
	return []turn.Tool{tools.New("fetch_webpage", "Read a public web page as Markdown text, given its URL. Long pages come in parts: pass start to read on.",
		f.fetch, tools.Words("Read a web page", "Read a web page|Read {n} web pages"), tools.Global(), tools.ReadOnly(), tools.Untrusted(), tools.Addresses(pageAddress), tools.PayloadType(typeWebPage), tools.Refine(func(s *jsonschema.Schema) {
			sized(s, "url", 1, webpage.MaxURL)
			atLeast(s, 0, "start")
		}))}
}

// pageAddress returns the key of the page that a call reads.
func pageAddress(input json.RawMessage) []string {
	var in pageRequest
	if json.Unmarshal(input, &in) != nil {
		return []string{""}
	}
	return []string{weburl.Key(in.URL)}
}

type fetcher struct{ reader webpage.Reader }

type pageRequest struct {
	URL   string `json:"url" jsonschema:"address of the page, with http or https"`
	Start int    `json:"start,omitempty" jsonschema:"character at which to start, from the note at the end of an earlier part"`
}

type pageContent struct {
	URL       string `json:"url"`
	Title     string `json:"title,omitempty"`
	Content   string `json:"content"`
	Truncated bool   `json:"truncated,omitempty"`
}

func (f fetcher) fetch(ctx context.Context, call *tools.Call, in pageRequest) (tools.Result, error) {
	call.Progress("fetching", "Fetching the page", 0.2, nil)
	page, err := f.reader.Read(ctx, in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	call.Progress("read", "Read "+cmp.Or(page.Title, page.URL), 1, nil)
	return tools.WithPayload(pageText(call, page, in.Start), typeWebPage, pageContent(page))
}

// pageText returns the part of the page from character start on, and a note
// that says where it continues.
func pageText(call *tools.Call, page webpage.Page, start int) string {
	var b strings.Builder
	if page.Title != "" {
		b.WriteString("Title: " + page.Title + "\n")
	}
	b.WriteString("URL: " + page.URL + "\n\n")
	shown, note := part(call, page.Content, start, b.String())
	switch {
	case page.Content == "":
		b.WriteString("(The page has no text.)")
	case shown == "":
		fmt.Fprintf(&b, "(The page ends at character %d.)", utf8.RuneCountInString(page.Content))
	}
	b.WriteString(shown)
	if note != "" {
		b.WriteString("\n\n" + note)
	} else if page.Truncated {
		b.WriteString("\n\n(The page is longer; the rest cannot be read.)")
	}
	return b.String()
}
