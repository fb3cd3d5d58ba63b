// Package webpage reads a page of the web for a model: it fetches the page,
// finds the main content and converts it to Markdown. The HTTP client decides
// what may be fetched.
package webpage

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools/outbound"
)

// The limits of a page.
const (
	maxBody        = 2 << 20 // bytes of a decompressed body
	maxContent     = 200_000 // bytes of Markdown
	MaxURL         = 2048
	maxTitle       = 300
	maxConversions = 2 // at once in the process
)

const service = "the page"

// Page is a page that was read.
type Page struct {
	// URL is the address after all redirects.
	URL     string
	Title   string
	Content string
	// Truncated is true if the page is longer.
	Truncated bool
}

// Extractor returns the title and the main content of a parsed document. It may
// change the document. A nil node means an empty page.
type Extractor interface {
	Extract(doc *html.Node) (title string, content *html.Node)
}

// Reader reads pages. Client is required; a nil Extractor means one that finds
// most of the prose.
type Reader struct {
	Client    *http.Client
	Extractor Extractor
}

// Read fetches rawURL: HTML becomes Markdown, JSON is indented if that is
// not too long, plain text is returned unchanged, anything else is an error that names the type. A URL without
// scheme is https.
func (r Reader) Read(ctx context.Context, rawURL string) (Page, error) {
	u, err := parse(rawURL)
	if err != nil {
		return Page{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return Page{}, outbound.Explain(ctx, service, err)
	}
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, */*;q=0.1")
	resp, err := r.Client.Do(req)
	if err != nil {
		return Page{}, outbound.Explain(ctx, service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Page{}, outbound.Status(service, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	brokenOff := errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0 // or its length is wrong
	if err != nil && !brokenOff {
		return Page{}, outbound.Explain(ctx, service, err)
	}
	page := Page{URL: resp.Request.URL.String(), Truncated: brokenOff}
	if len(page.URL) > MaxURL {
		return Page{}, schemas.NewError(schemas.CodeUpstreamError, "the page redirects to an address that is too long")
	}
	if len(body) > maxBody {
		body, page.Truncated = []byte(text.Bytes(string(body), maxBody)), true
	}
	if err := r.inTurn(ctx, &page, body, resp.Header.Get("Content-Type")); err != nil {
		return Page{}, err
	}
	page.Title = text.Bytes(strings.Join(strings.Fields(clean(page.Title)), " "), maxTitle)
	page.Content = strings.TrimSpace(clean(page.Content))
	if short := text.Bytes(page.Content, maxContent); short != page.Content {
		page.Content, page.Truncated = short, true
	}
	return page, nil
}

func parse(rawURL string) (*url.URL, error) {
	raw := strings.TrimSpace(rawURL)
	if len(raw) > MaxURL {
		return nil, schemas.NewError(schemas.CodeInvalid, "the URL is too long")
	}
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return nil, schemas.NewError(schemas.CodeInvalid, "this is not the URL of a page; it must look like https://example.com/path")
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host) // different spellings of an address give the same request
	return u, nil
}

// turns has a place for each conversion that is under way in the process.
var turns = make(chan struct{}, maxConversions)

// inTurn fills the page when few others are being converted: a conversion takes
// some fifty times the memory of its page.
func (r Reader) inTurn(ctx context.Context, page *Page, body []byte, contentType string) error {
	select {
	case turns <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-turns }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.fill(ctx, page, body, contentType)
}

// fill converts the body by its content type.
func (r Reader) fill(ctx context.Context, page *Page, body []byte, contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "application/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		return r.fromHTML(ctx, page, outbound.Decoded(body, contentType, outbound.Windows1252))
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		if !page.Truncated {
			body = indented(body)
		}
		page.Content = outbound.Decoded(body, contentType, outbound.Windows1252)
		return nil
	case schemas.TextMedia(kind), strings.HasSuffix(kind, "+xml"):
		page.Content = outbound.Decoded(body, contentType, outbound.Windows1252)
		return nil
	default:
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the page is of type "+text.Bytes(kind, 100)+"; only HTML, text and JSON can be read")
	}
}

func unreadable(err error) error {
	return schemas.NewError(schemas.CodeUpstreamError, "the page cannot be read").Because(errors.Join(errors.New("HTML"), err))
}

// clean returns s as valid UTF-8 without control characters.
func clean(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(strings.ToValidUTF8(s, "\uFFFD"), "\uFEFF"), "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
}
