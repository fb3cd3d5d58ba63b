package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/outbound"
	"github.com/chattray/chattray/tools/webpage"
)

// typeWebResults is the payload type of web_search.
const typeWebResults = "web_search_results"

// Limits of web_search.
const (
	defaultHits     = 8
	maxHits         = 20
	maxSearchQuery  = 500
	maxSearchAnswer = 4 << 20
	maxHitTitle     = 300
	maxSnippet      = 600
	maxHitAbout     = 100 // characters of an engine's name and of a date
)

// WebSearchConfig configures web_search.
type WebSearchConfig struct {
	// URL is the URL of the SearXNG server; empty for none.
	URL string
	// HTTP sends the requests; nil means a guarded client that may reach URL.
	HTTP *http.Client
}

// WebSearch returns web_search over SearXNG's JSON API; none if no URL is configured.
func WebSearch(c WebSearchConfig) ([]turn.Tool, error) {
	if c.URL == "" {
		return nil, nil
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("the URL of SearXNG is not an http or https URL")
	}
	client := c.HTTP
	if client == nil {
		client = outbound.New(outbound.Config{Base: base})
	}
	s := searx{base, client}
	return []turn.Tool{tools.New("web_search", "Search the web. Returns titles, URLs and short texts; use fetch_webpage to read a result.", s.search,
		tools.Words("Search the web", "Searched the web|Searched the web {n} times"), tools.Global(), tools.ReadOnly(), tools.Untrusted(), tools.PayloadType(typeWebResults), tools.Refine(func(s *jsonschema.Schema) {
			sized(s, "query", 1, maxSearchQuery)
			between(s, "max_results", 1, maxHits)
			s.Properties["time_range"].Enum = []any{"day", "month", "year"}
			s.Properties["language"].Pattern = `^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`
		}))}, nil
}

type searx struct {
	base *url.URL
	http *http.Client
}

type webSearch struct {
	Query      string `json:"query" jsonschema:"what to search for"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"how many results to return, 8 if not given"`
	TimeRange  string `json:"time_range,omitempty" jsonschema:"only results of the last day, month or year"`
	Language   string `json:"language,omitempty" jsonschema:"language code of the results, such as en or de-CH"`
}

type webHit struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Snippet     string `json:"snippet"`
	Engine      string `json:"engine,omitempty"`
	PublishedAt string `json:"published_at,omitempty"`
}

type webHits struct {
	Query   string   `json:"query"`
	Results []webHit `json:"results"`
}

// searxAnswer is SearXNG's JSON; answers and engines have had several shapes.
type searxAnswer struct {
	Results []struct {
		URL       string `json:"url"`
		Title     string `json:"title"`
		Content   string `json:"content"`
		Engine    string `json:"engine"`
		Published string `json:"publishedDate"`
	} `json:"results"`
	Answers   []json.RawMessage `json:"answers"`
	Infoboxes []struct {
		Name    string `json:"infobox"`
		Content string `json:"content"`
	} `json:"infoboxes"`
	Suggestions  []string          `json:"suggestions"`
	Unresponsive []json.RawMessage `json:"unresponsive_engines"`
}

func (s searx) search(ctx context.Context, call *tools.Call, in webSearch) (tools.Result, error) {
	if strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, tools.Invalid("the query is empty")
	}
	call.Progress("searching", "Searching the web", 0.2, nil)
	answer, err := s.ask(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	data := webHits{Query: in.Query, Results: []webHit{}}
	seen := map[string]bool{}
	for _, r := range answer.Results {
		if len(data.Results) == clamp(in.MaxResults, defaultHits, maxHits) {
			break
		}
		if seen[r.URL] || !isPage(r.URL) {
			continue
		}
		seen[r.URL] = true
		data.Results = append(data.Results, webHit{
			cmp.Or(text.Line(r.Title, maxHitTitle), r.URL), r.URL, text.Line(r.Content, maxSnippet), text.Line(r.Engine, maxHitAbout), text.Line(r.Published, maxHitAbout),
		})
	}
	return tools.WithPayload(hitsText(data, answer), typeWebResults, data)
}

// isPage reports whether the URL of a result is one that fetch_webpage can read.
func isPage(address string) bool {
	return len(address) <= webpage.MaxURL && !strings.ContainsFunc(address, unicode.IsControl) &&
		(strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://"))
}

func (s searx) ask(ctx context.Context, in webSearch) (searxAnswer, error) {
	const service = "the web search"
	var answer searxAnswer
	u := s.base.JoinPath("search")
	q := u.Query()
	q.Set("q", in.Query)
	q.Set("format", "json")
	if in.TimeRange != "" {
		q.Set("time_range", in.TimeRange)
	}
	if in.Language != "" {
		q.Set("language", in.Language)
	}
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return answer, outbound.Explain(ctx, service, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return answer, outbound.Explain(ctx, service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusForbidden {
		return answer, schemas.NewError(schemas.CodeUpstreamAuth, "the web search does not return JSON; its settings must list json under search.formats")
	}
	if resp.StatusCode != http.StatusOK {
		return answer, outbound.Status(service, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSearchAnswer+1))
	if err == nil && len(body) > maxSearchAnswer {
		err = outbound.ErrTooLarge
	}
	if err != nil {
		return answer, outbound.Explain(ctx, service, err)
	}
	err = json.Unmarshal(body, &answer)
	if _, isMember := errors.AsType[*json.UnmarshalTypeError](err); isMember && answer.Results != nil {
		err = nil // the other members are decoded
	}
	if err != nil {
		return answer, schemas.NewError(schemas.CodeUpstreamError, "the web search answered with something other than results").
			Because(errors.New("the answer is not SearXNG's JSON"))
	}
	return answer, nil
}

func hitsText(data webHits, answer searxAnswer) string {
	var b strings.Builder
	if len(data.Results) == 0 {
		fmt.Fprintf(&b, "The web search found nothing for %q.\n", data.Query)
		if silent := engines(answer.Unresponsive); silent != "" {
			b.WriteString("These search engines did not answer: " + silent + ".\n")
		}
	} else {
		fmt.Fprintf(&b, "The web search found %d results for %q.\n", len(data.Results), data.Query)
	}
	for _, raw := range answer.Answers[:min(len(answer.Answers), 3)] {
		if a := answerText(raw); a != "" {
			b.WriteString("Answer: " + text.Ellipsis(text.OneLine(a), maxSnippet) + "\n")
		}
	}
	for _, box := range answer.Infoboxes[:min(len(answer.Infoboxes), 3)] {
		if box.Content != "" {
			b.WriteString(text.OneLine(box.Name) + ": " + text.Ellipsis(text.OneLine(box.Content), maxSnippet) + "\n")
		}
	}
	for i, r := range data.Results {
		b.WriteString("\n" + strconv.Itoa(i+1) + ". " + r.Title + "\n" + r.URL + "\n")
		if r.PublishedAt != "" {
			b.WriteString("Published: " + r.PublishedAt + "\n")
		}
		if r.Snippet != "" {
			b.WriteString(r.Snippet + "\n")
		}
	}
	if len(data.Results) == 0 && len(answer.Suggestions) > 0 {
		b.WriteString("Suggested searches: " + strings.Join(answer.Suggestions[:min(len(answer.Suggestions), 5)], "; ") + "\n")
	}
	return b.String()
}

// answerText reads an answer, which is a string or an object.
func answerText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Answer string `json:"answer"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Answer
}

// engines returns the names of the engines that did not answer, from pairs of
// name and reason.
func engines(raw []json.RawMessage) string {
	var names []string
	for _, r := range raw[:min(len(raw), 10)] {
		var pair []string
		if json.Unmarshal(r, &pair) == nil && len(pair) > 0 {
			names = append(names, pair[0])
		}
	}
	return strings.Join(names, ", ")
}
