package builtin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/eutils"
)

// The payload types of the PubMed tools.
const (
	typePubMedResults = "pubmed_search_results"
	typePubMedArticle = "pubmed_article"
)

// Limits of the PubMed tools. The abstracts of a search share maxAbstracts
// characters of the text for the model; the payload has the whole abstracts.
const (
	defaultArticles = 10
	maxArticles     = 25
	maxQuery        = 2000
	maxAbstracts    = 10_000
	minAbstract     = 300
)

// PubMedConfig configures the PubMed tools.
type PubMedConfig struct {
	// BaseURL is the folder of the E-utilities; empty means NCBI's.
	BaseURL       string
	APIKey, Email string
	// HTTP sends the requests; nil means a guarded client that may reach
	// BaseURL.
	HTTP *http.Client
	// Sharing returns how many processes share NCBI's rate limit; nil means only this one.
	Sharing func() int
}

// PubMed returns search_pubmed and get_pubmed_article. They share one client,
// which keeps NCBI's rate limit.
func PubMed(c PubMedConfig) ([]turn.Tool, error) {
	client, err := eutils.New(eutils.Config{BaseURL: c.BaseURL, APIKey: c.APIKey, Email: c.Email, HTTP: c.HTTP, Sharing: c.Sharing})
	if err != nil {
		return nil, err
	}
	p := pubMed{client}
	return []turn.Tool{
		tools.New("search_pubmed", "Search PubMed for biomedical articles. Returns titles, authors, journal, year, PMID and abstracts. "+
			"The query may use PubMed's syntax, such as aspirin[ti] AND randomized controlled trial[pt].", p.search,
			tools.Words("Search PubMed", "Searched PubMed|Searched PubMed {n} times"), tools.Global(), tools.ReadOnly(), tools.Untrusted(), tools.PayloadType(typePubMedResults), tools.Refine(func(s *jsonschema.Schema) {
				sized(s, "query", 1, maxQuery)
				between(s, "max_results", 1, maxArticles)
				between(s, "year_from", 1500, 3000)
				between(s, "year_to", 1500, 3000)
				s.Properties["sort"].Enum = []any{"relevance", "newest"}
			})),
		tools.New("get_pubmed_article", "Get one PubMed article by its PMID: the whole abstract with its sections, authors, journal, year, DOI, MeSH terms and publication types.",
			p.get, tools.Words("Read an article", "Read an article|Read {n} articles"), tools.Global(), tools.ReadOnly(), tools.Untrusted(), tools.PayloadType(typePubMedArticle), tools.Refine(func(s *jsonschema.Schema) {
				s.Properties["pmid"].Pattern = `^[1-9][0-9]{0,8}$`
			})),
	}, nil
}

type pubMed struct{ client *eutils.Client }

type pubMedSearch struct {
	Query      string `json:"query" jsonschema:"what to search for"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"how many articles to return, 10 if not given"`
	Sort       string `json:"sort,omitempty" jsonschema:"order of the articles, relevance if not given"`
	YearFrom   int    `json:"year_from,omitempty" jsonschema:"first year of publication"`
	YearTo     int    `json:"year_to,omitempty" jsonschema:"last year of publication"`
	Titles     bool   `json:"titles_only,omitempty" jsonschema:"true to leave out the abstracts"`
}

type pubMedArticle struct {
	PMID string `json:"pmid" jsonschema:"PubMed id, digits only"`
}

// foundArticle is an article of pubmed_search_results.
type foundArticle struct {
	PMID     string   `json:"pmid"`
	Title    string   `json:"title"`
	Authors  []string `json:"authors"`
	Journal  string   `json:"journal"`
	Year     int      `json:"year"`
	DOI      string   `json:"doi,omitempty"`
	Abstract string   `json:"abstract,omitempty"`
	URL      string   `json:"url"`
}

type foundArticles struct {
	Query    string         `json:"query"`
	Total    int            `json:"total"`
	Articles []foundArticle `json:"articles"`
}

// wholeArticle is the data of pubmed_article.
type wholeArticle struct {
	PMID     string           `json:"pmid"`
	Title    string           `json:"title"`
	Authors  []string         `json:"authors"`
	Journal  string           `json:"journal"`
	Year     int              `json:"year"`
	DOI      string           `json:"doi,omitempty"`
	Abstract []eutils.Section `json:"abstract,omitempty"`
	MeSH     []string         `json:"mesh_terms,omitempty"`
	Types    []string         `json:"publication_types,omitempty"`
	URL      string           `json:"url"`
}

func (p pubMed) search(ctx context.Context, call *tools.Call, in pubMedSearch) (tools.Result, error) {
	if strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, tools.Invalid("the query is empty")
	}
	if in.YearFrom > 0 && in.YearTo > 0 && in.YearFrom > in.YearTo {
		return tools.Result{}, tools.Invalid("year_from is after year_to")
	}
	call.Progress("searching", "Searching PubMed", 0.1, nil)
	found, err := p.client.Search(ctx, call.Waiting, eutils.Query{
		Term: in.Query, Max: clamp(in.MaxResults, defaultArticles, maxArticles), Newest: in.Sort == "newest",
		YearFrom: in.YearFrom, YearTo: in.YearTo,
	})
	if err != nil {
		return tools.Result{}, err
	}
	call.Progress("reading", fmt.Sprintf("Reading %d of %d articles", len(found.IDs), found.Total), 0.5,
		map[string]int{"found": found.Total, "reading": len(found.IDs)})
	articles, note, err := p.read(ctx, call, found.IDs, in.Titles)
	if err != nil {
		return tools.Result{}, err
	}
	call.Progress("read", fmt.Sprintf("Read %d articles", len(articles)), 1, nil)
	data := foundArticles{Query: in.Query, Total: found.Total, Articles: make([]foundArticle, len(articles))}
	for i, a := range articles {
		data.Articles[i] = foundArticle{a.PMID, a.Title, a.Authors, a.Journal, a.Year, a.DOI, abstractText(a.Abstract), a.URL()}
	}
	return tools.WithPayload(searchText(data, append(found.Notes, note...)), typePubMedResults, data)
}

// read returns the whole articles, and the short form for those that could not
// be read. Notes say what is missing.
func (p pubMed) read(ctx context.Context, call *tools.Call, ids []string, titles bool) ([]eutils.Article, []string, error) {
	var whole []eutils.Article
	var notes []string
	if !titles {
		var err error
		if whole, err = p.client.Fetch(ctx, call.Waiting, ids); err != nil {
			if ctx.Err() != nil || schemas.Visible(err).Code == schemas.CodeRateLimited {
				return nil, nil, err
			}
			notes = append(notes, "The abstracts are not available at the moment.")
		}
	}
	have := map[string]eutils.Article{}
	for _, a := range whole {
		have[a.PMID] = a
	}
	var missing []string
	for _, id := range ids {
		if _, ok := have[id]; !ok {
			missing = append(missing, id)
		}
	}
	short, err := p.client.Summaries(ctx, call.Waiting, missing)
	if err != nil && (len(whole) == 0 || ctx.Err() != nil) {
		return nil, nil, err
	}
	for _, a := range short {
		have[a.PMID] = a
	}
	out := make([]eutils.Article, 0, len(ids))
	for _, id := range ids {
		if a, ok := have[id]; ok {
			out = append(out, a)
		}
	}
	return out, notes, nil
}

func (p pubMed) get(ctx context.Context, call *tools.Call, in pubMedArticle) (tools.Result, error) {
	call.Progress("reading", "Reading PubMed article "+in.PMID, 0.2, nil)
	found, err := p.client.Fetch(ctx, call.Waiting, []string{in.PMID})
	if err != nil {
		return tools.Result{}, err
	}
	if len(found) == 0 {
		return tools.Result{}, schemas.NewError(schemas.CodeNotFound, "PubMed has no article with PMID "+in.PMID)
	}
	a := found[0]
	return tools.WithPayload(articleText(a), typePubMedArticle,
		wholeArticle{a.PMID, a.Title, a.Authors, a.Journal, a.Year, a.DOI, a.Abstract, a.MeSH, a.Types, a.URL()})
}

func searchText(data foundArticles, notes []string) string {
	var b strings.Builder
	if len(data.Articles) == 0 {
		fmt.Fprintf(&b, "PubMed found no articles for %q.\n", data.Query)
	} else {
		fmt.Fprintf(&b, "PubMed found %s for %q%s.\n", counted(data.Total, "article", "articles"), data.Query, ofMore(len(data.Articles), data.Total))
	}
	for _, n := range notes {
		b.WriteString(n + "\n")
	}
	share := max(maxAbstracts/max(len(data.Articles), 1), minAbstract)
	for i, a := range data.Articles {
		fmt.Fprintf(&b, "\n%d. %s\n%s. %s. PMID %s", i+1, a.Title, byline(a.Authors), published(a.Journal, a.Year), a.PMID)
		if a.DOI != "" {
			b.WriteString(", DOI " + a.DOI)
		}
		b.WriteString("\n" + a.URL + "\n")
		if a.Abstract != "" {
			b.WriteString("Abstract: " + text.Ellipsis(text.OneLine(a.Abstract), share) + "\n")
		}
	}
	return b.String()
}

func articleText(a eutils.Article) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nAuthors: %s\nPublished in: %s\nPMID: %s\n", a.Title,
		cmp.Or(strings.Join(a.Authors, ", "), "not given"), published(a.Journal, a.Year), a.PMID)
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	line("DOI", a.DOI)
	line("URL", a.URL())
	line("Publication types", strings.Join(a.Types, ", "))
	line("MeSH terms", strings.Join(a.MeSH, "; "))
	b.WriteString("\nAbstract:\n" + cmp.Or(abstractText(a.Abstract), "(this record has no abstract)") + "\n")
	return b.String()
}

func abstractText(sections []eutils.Section) string {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = s.Text
		if s.Label != "" {
			parts[i] = s.Label + ": " + s.Text
		}
	}
	return strings.Join(parts, "\n")
}

func published(journal string, year int) string {
	text := cmp.Or(journal, "journal not given")
	if year > 0 {
		text += fmt.Sprintf(" (%d)", year)
	}
	return text
}

// clamp returns n limited to 1 to most, or instead if n is not given.
func clamp(n, instead, most int) int {
	if n <= 0 {
		return min(instead, most)
	}
	return min(n, most)
}

// sized and between set the limits of a property of an inferred schema.
func sized(s *jsonschema.Schema, name string, least, most int) {
	s.Properties[name].MinLength, s.Properties[name].MaxLength = &least, &most
}

func between(s *jsonschema.Schema, name string, least, most float64) {
	s.Properties[name].Minimum, s.Properties[name].Maximum = &least, &most
}
