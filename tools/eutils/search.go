package eutils

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	plain "github.com/chattray/chattray/schemas/text"
)

// Query is a search.
type Query struct {
	// Term is in PubMed's own syntax.
	Term string
	// Max is how many ids to return, at most maxIDs.
	Max int
	// Newest sorts by date of publication instead of by relevance.
	Newest bool
	// YearFrom and YearTo limit the year of publication; 0 is no limit.
	YearFrom, YearTo int
}

// Found is the outcome of a search.
type Found struct {
	IDs   []string
	Total int
	// Notes are sentences about parts of the term that PubMed could not use.
	Notes []string
}

// Search runs esearch.
func (c *Client) Search(ctx context.Context, hold Hold, q Query) (Found, error) {
	query := url.Values{
		"retmode": {"json"}, "term": {q.Term}, "retmax": {strconv.Itoa(min(q.Max, maxIDs))}, "sort": {"relevance"},
	}
	if q.Newest {
		query.Set("sort", "pub_date")
	}
	if q.YearFrom > 0 || q.YearTo > 0 { // NCBI wants both or none
		to := q.YearTo
		if to == 0 {
			to = 3000
		}
		query.Set("datetype", "pdat")
		query.Set("mindate", strconv.Itoa(max(q.YearFrom, 1)))
		query.Set("maxdate", strconv.Itoa(to))
	}
	body, err := c.get(ctx, hold, "esearch.fcgi", query)
	if err != nil {
		return Found{}, err
	}
	return parseSearch(body)
}

// parseSearch reads esearch's JSON.
func parseSearch(body []byte) (Found, error) {
	var answer struct {
		Error  string `json:"error"`
		Result *struct {
			Error     string   `json:"ERROR"`
			Count     number   `json:"count"`
			IDs       []string `json:"idlist"`
			ErrorList struct {
				Phrases []string `json:"phrasesnotfound"`
				Fields  []string `json:"fieldsnotfound"`
			} `json:"errorlist"`
			Warnings struct {
				Ignored []string `json:"phrasesignored"`
				Quoted  []string `json:"quotedphrasesnotfound"`
			} `json:"warninglist"`
		} `json:"esearchresult"`
	}
	if err := unmarshal(body, &answer); err != nil {
		return Found{}, err
	}
	r := answer.Result
	switch {
	case answer.Error != "":
		return Found{}, failure("PubMed could not run the search", reason(answer.Error))
	case r == nil:
		return Found{}, failure("PubMed answered with something other than a search result", nil)
	case r.Error != "":
		return Found{}, failure("PubMed could not run the search; the query may not be in its syntax", reason(r.Error))
	}
	out := Found{IDs: make([]string, 0, len(r.IDs)), Total: int(r.Count)}
	for _, id := range r.IDs {
		if validID(id) {
			out.IDs = append(out.IDs, id)
		}
	}
	note := func(sentence string, phrases []string) {
		if len(phrases) > 0 {
			out.Notes = append(out.Notes, sentence+quoted(phrases)+".")
		}
	}
	note("PubMed found nothing for: ", r.ErrorList.Phrases)
	note("PubMed does not know these search fields: ", r.ErrorList.Fields)
	note("PubMed found no such quoted phrase and searched for the words: ", r.Warnings.Quoted)
	note("PubMed ignored: ", r.Warnings.Ignored)
	return out, nil
}

func quoted(phrases []string) string {
	const most = 10
	parts := make([]string, 0, most)
	seen := map[string]bool{}
	for _, p := range phrases {
		if !seen[p] && len(parts) < most {
			parts = append(parts, strconv.Quote(p))
		}
		seen[p] = true
	}
	return strings.Join(parts, ", ")
}

// Summaries runs esummary: the articles without abstract and MeSH terms, in the
// order of ids. Ids without a record are left out.
func (c *Client) Summaries(ctx context.Context, hold Hold, ids []string) ([]Article, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	body, err := c.get(ctx, hold, "esummary.fcgi", url.Values{"retmode": {"json"}, "id": {join(ids)}})
	if err != nil {
		return nil, err
	}
	return parseSummaries(body, ids)
}

// summary is one record of esummary.
type summary struct {
	Error   string `json:"error"`
	Title   string `json:"title"`
	Authors []struct {
		Name string `json:"name"`
	} `json:"authors"`
	Journal  string   `json:"fulljournalname"`
	Source   string   `json:"source"`
	Book     string   `json:"booktitle"`
	PubDate  string   `json:"pubdate"`
	EPubDate string   `json:"epubdate"`
	SortDate string   `json:"sortpubdate"`
	Types    []string `json:"pubtype"`
	ELoc     string   `json:"elocationid"`
	IDs      []struct {
		Type  string `json:"idtype"`
		Value string `json:"value"`
	} `json:"articleids"`
}

func parseSummaries(body []byte, ids []string) ([]Article, error) {
	var answer struct {
		Error   string                     `json:"error"`
		Reasons []string                   `json:"esummaryresult"`
		Result  map[string]json.RawMessage `json:"result"`
	}
	if err := unmarshal(body, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Error != "":
		return nil, failure("PubMed could not look up the articles", reason(answer.Error))
	case answer.Result == nil && len(answer.Reasons) > 0:
		return nil, failure("PubMed could not look up the articles", reason(strings.Join(answer.Reasons, " ")))
	case answer.Result == nil:
		return nil, failure("PubMed answered with something other than a list of articles", nil)
	}
	out := make([]Article, 0, len(ids))
	for _, id := range ids {
		var s summary
		if raw, ok := answer.Result[id]; !ok || json.Unmarshal(raw, &s) != nil || s.Error != "" {
			continue
		}
		out = append(out, s.article(id))
	}
	return out, nil
}

func (s summary) article(id string) Article {
	a := Article{
		PMID: id, Title: untitled(tidy(stripTags(s.Title))), Journal: tidy(first(s.Journal, s.Source, s.Book)),
		Year: year(first(s.PubDate, s.EPubDate, s.SortDate)), Types: s.Types, Authors: []string{},
	}
	for _, author := range s.Authors {
		if name := tidy(author.Name); name != "" {
			a.Authors = append(a.Authors, name)
		}
	}
	for _, other := range s.IDs {
		if other.Type == "doi" {
			a.DOI = other.Value
		}
	}
	if doi, ok := strings.CutPrefix(s.ELoc, "doi: "); ok && a.DOI == "" {
		a.DOI, _, _ = strings.Cut(doi, " ")
	}
	return a
}

var (
	raised     = regexp.MustCompile(`<sup>[^<]+`)
	tags       = regexp.MustCompile(`</?(?:i|b|u|sub|sup|em|strong)>`)
	yearDigits = regexp.MustCompile(`\b(?:1[5-9]|20)\d\d\b`)
	idDigits   = regexp.MustCompile(`^[1-9]\d{0,8}$`)
)

// validID reports whether id may be a PubMed id.
func validID(id string) bool { return idDigits.MatchString(id) }

// stripTags removes the mark-up from titles, which may be escaped; exponents keep a mark.
func stripTags(s string) string {
	s = raised.ReplaceAllStringFunc(html.UnescapeString(s), func(sup string) string { return plain.Raised(sup[len("<sup>"):]) + sup })
	return tags.ReplaceAllString(strings.ReplaceAll(s, "</sup><sub>", plain.Lowered), "")
}

// year finds the year in a date such as "2021 Mar 4", "1998 Dec-1999 Jan" or
// "Winter 2003"; 0 when there is none.
func year(date string) int {
	y, _ := strconv.Atoi(yearDigits.FindString(date))
	return y
}

func first(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

func join(ids []string) string { return strings.Join(ids[:min(len(ids), maxIDs)], ",") }

// number is an integer that NCBI usually writes as a string.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.Atoi(string(bytes.Trim(b, `"`)))
	if err != nil {
		v = 0
	}
	*n = number(v)
	return nil
}

// unmarshal decodes JSON. NCBI sends HTML when it is down: the error does not
// repeat that text.
func unmarshal(body []byte, v any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return failure("PubMed answered with nothing", nil)
	}
	if body[0] != '{' {
		return failure("PubMed answered with something other than JSON", errors.New("it begins with "+strconv.QuoteRune(rune(body[0]))))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return failure("PubMed answered with JSON that cannot be read", err)
	}
	return nil
}
