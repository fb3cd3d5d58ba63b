package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// The payload types of the research tools.
const (
	typeArticleResults = "article_search_results"
	typeReportList     = "report_list"
	typeReportSummary  = "report_summary"
	typeStreamList     = "stream_list"
	typeStreamDetails  = "stream_details"
)

// Limits of the research tools. Text for the model shows at most maxListed
// entries and cuts long texts; payloads are complete.
const (
	maxListed      = 30
	defaultReports = 20
	maxReports     = 50
	maxSummary     = 1500
	maxStreamText  = 4000
)

// research is the data that the tools read; every user may read it. Reports are
// newest first; a stream or report 0 means all. Unknown ids are
// schemas.ErrNotFound.
type research interface {
	Streams(ctx context.Context) ([]schemas.Stream, error)
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	Reports(ctx context.Context, streamID int64) ([]schemas.Report, error)
	Report(ctx context.Context, id int64) (schemas.Report, error)
	SearchArticles(ctx context.Context, query string, streamID, reportID int64, limit int) ([]schemas.Article, error)
}

// Research returns the tools over the research data: search_articles,
// list_reports, get_report, list_streams and get_stream; none without data. Ids
// that a call leaves out are taken from the page's context. What streams say is text
// from outside: users write it.
func Research(data research) []turn.Tool {
	if data == nil {
		return nil
	}
	r := researchTools{data}
	return []turn.Tool{
		tools.New("search_articles", "Search the articles of the research reports by words in title, abstract and authors. "+
			"On a page about a report or a stream it searches there; pass 0 as report_id and stream_id to search everywhere.", r.searchArticles,
			tools.Words("Search the articles", "Searched the articles|Searched the articles {n} times"), tools.Global(), tools.ReadOnly(), tools.PayloadType(typeArticleResults), tools.Refine(func(s *jsonschema.Schema) {
				sized(s, "query", 1, maxQuery)
				between(s, "limit", 1, maxReports)
				atLeast(s, 0, "stream_id", "report_id")
			})),
		tools.New("list_reports", "List the research reports, newest first: all of them or those of one stream.", r.listReports,
			tools.Words("List the reports", "Listed the reports|Listed reports {n} times"), tools.ReadOnly(), tools.PayloadType(typeReportList), tools.Refine(func(s *jsonschema.Schema) {
				between(s, "limit", 1, maxReports)
				atLeast(s, 0, "stream_id")
			})),
		tools.New("get_report", "Get a research report with its summary and articles. Without an id: the report on the user's page.", r.getReport,
			tools.Words("Read a report", "Read a report|Read {n} reports"), tools.ReadOnly(), tools.PayloadType(typeReportSummary), tools.Refine(func(s *jsonschema.Schema) { atLeast(s, 1, "report_id") })),
		tools.New("list_streams", "List the research streams with their purpose.", r.listStreams,
			tools.Words("List the streams", "Listed the streams|Listed streams {n} times"), tools.ReadOnly(), tools.Untrusted(), tools.PayloadType(typeStreamList)),
		tools.New("get_stream", "Get a research stream: purpose, schema, instructions and reports. Without an id: the stream on the user's page.", r.getStream,
			tools.Words("Read a stream", "Read a stream|Read {n} streams"), tools.ReadOnly(), tools.Untrusted(), tools.PayloadType(typeStreamDetails), tools.Refine(func(s *jsonschema.Schema) { atLeast(s, 1, "stream_id") })),
	}
}

type researchTools struct{ data research }

type articleSearch struct {
	Query    string `json:"query" jsonschema:"words to search for"`
	StreamID *int64 `json:"stream_id,omitempty" jsonschema:"only articles of this stream, 0 for all"`
	ReportID *int64 `json:"report_id,omitempty" jsonschema:"only articles of this report, 0 for all"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many articles to return, 10 if not given"`
}

type reportListing struct {
	StreamID *int64 `json:"stream_id,omitempty" jsonschema:"only reports of this stream, 0 for all"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many reports to return, 20 if not given"`
}

type reportID struct {
	ReportID int64 `json:"report_id,omitempty" jsonschema:"id of the report"`
}

type streamID struct {
	StreamID int64 `json:"stream_id,omitempty" jsonschema:"id of the stream"`
}

func (r researchTools) searchArticles(ctx context.Context, call *tools.Call, in articleSearch) (tools.Result, error) {
	if strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, tools.Invalid("the query is empty")
	}
	stream, report := scope(call, in)
	articles, err := held(ctx, func() ([]schemas.Article, error) {
		return r.data.SearchArticles(ctx, in.Query, stream, report, clamp(in.Limit, defaultArticles, maxReports))
	})
	if err != nil {
		return tools.Result{}, err
	}
	data := struct {
		Query    string            `json:"query"`
		Total    int               `json:"total"`
		Articles []schemas.Article `json:"articles"`
	}{in.Query, len(articles), withAuthors(articles)}
	var b strings.Builder
	where := place(stream, report)
	if len(articles) == 0 {
		fmt.Fprintf(&b, "No articles match %q%s.", in.Query, where)
		if where != "" {
			b.WriteString(" To search everywhere, pass 0 as stream_id and report_id.")
		}
	} else {
		fmt.Fprintf(&b, "%s %q%s:\n", counted(len(articles), "article matches", "articles match"), in.Query, where)
		writeArticles(&b, articles)
	}
	return tools.WithPayload(b.String(), typeArticleResults, data)
}

// scope returns where to search: what the call names, else what the page shows.
func scope(call *tools.Call, in articleSearch) (stream, report int64) {
	switch {
	case in.StreamID == nil && in.ReportID == nil:
		report = call.Context.Int("report_id")
		if report == 0 {
			stream = call.Context.Int("stream_id")
		}
	default:
		stream, report = value(in.StreamID), value(in.ReportID)
	}
	return max(stream, 0), max(report, 0)
}

func place(stream, report int64) string {
	text := ""
	if report > 0 {
		text += " in report " + strconv.FormatInt(report, 10)
	}
	if stream > 0 {
		text += " in stream " + strconv.FormatInt(stream, 10)
	}
	return text
}

func (r researchTools) listReports(ctx context.Context, call *tools.Call, in reportListing) (tools.Result, error) {
	stream := value(in.StreamID)
	if in.StreamID == nil {
		stream = max(call.Context.Int("stream_id"), 0)
	}
	reports, err := held(ctx, func() ([]schemas.Report, error) { return r.data.Reports(ctx, stream) })
	if err != nil {
		return tools.Result{}, named(err, "stream", stream)
	}
	total := len(reports)
	reports = reports[:min(total, clamp(in.Limit, defaultReports, maxReports))]
	data := struct {
		Reports []schemas.Report `json:"reports"`
	}{withoutArticles(reports)}
	var b strings.Builder
	if total == 0 {
		fmt.Fprintf(&b, "There are no reports%s.", place(stream, 0))
	} else {
		fmt.Fprintf(&b, "%s%s, newest first%s:\n", counted(total, "report", "reports"), place(stream, 0), ofMore(len(reports), total))
		writeReports(&b, reports)
	}
	return tools.WithPayload(b.String(), typeReportList, data)
}

func (r researchTools) getReport(ctx context.Context, call *tools.Call, in reportID) (tools.Result, error) {
	id := in.ReportID
	if id == 0 {
		id = call.Context.Int("report_id")
	}
	if id <= 0 {
		return tools.Result{}, tools.Invalid("report_id is required: the user's page shows no report; list_reports has the ids")
	}
	report, err := held(ctx, func() (schemas.Report, error) { return r.data.Report(ctx, id) })
	if err != nil {
		return tools.Result{}, named(err, "report", id)
	}
	report.Articles = withAuthors(report.Articles)
	var b strings.Builder
	fmt.Fprintf(&b, "Report %d: %s\nStream %d, published %s, %d articles\n\n%s\n", report.ReportID, report.Title, report.StreamID,
		report.PublishedAt.Format("2006-01-02"), max(report.ArticleCount, len(report.Articles)), cmp.Or(report.Summary, "(no summary)"))
	if len(report.Articles) > 0 {
		b.WriteString("\nArticles:\n")
		writeArticles(&b, report.Articles)
	}
	return tools.WithPayload(b.String(), typeReportSummary, struct {
		Report schemas.Report `json:"report"`
	}{report})
}

func (r researchTools) listStreams(ctx context.Context, _ *tools.Call, _ struct{}) (tools.Result, error) {
	streams, err := held(ctx, func() ([]schemas.Stream, error) { return r.data.Streams(ctx) })
	if err != nil {
		return tools.Result{}, err
	}
	if streams == nil {
		streams = []schemas.Stream{}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "There are %d research streams.\n", len(streams))
	for i, s := range streams[:min(len(streams), maxListed)] {
		fmt.Fprintf(&b, "\n%d. %s (stream %d)\n%s\n", i+1, s.Name, s.StreamID, text.Ellipsis(text.OneLine(s.Purpose), maxSnippet))
	}
	return tools.WithPayload(b.String()+left(len(streams)), typeStreamList, struct {
		Streams []schemas.Stream `json:"streams"`
	}{streams})
}

func (r researchTools) getStream(ctx context.Context, call *tools.Call, in streamID) (tools.Result, error) {
	id := in.StreamID
	if id == 0 {
		id = call.Context.Int("stream_id")
	}
	if id <= 0 {
		return tools.Result{}, tools.Invalid("stream_id is required: the user's page shows no stream; list_streams has the ids")
	}
	stream, err := held(ctx, func() (schemas.Stream, error) { return r.data.Stream(ctx, id) })
	if err != nil {
		return tools.Result{}, named(err, "stream", id)
	}
	reports, err := held(ctx, func() ([]schemas.Report, error) { return r.data.Reports(ctx, id) })
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Stream %d: %s\nPurpose: %s\nSchema: %s\n", stream.StreamID, stream.Name, text.Ellipsis(cmp.Or(stream.Purpose, "not given"), maxStreamText),
		text.Ellipsis(cmp.Or(string(stream.Schema), "none"), maxStreamText))
	if stream.Instructions != "" {
		b.WriteString("Instructions: " + text.Ellipsis(stream.Instructions, maxStreamText) + "\n")
	}
	fmt.Fprintf(&b, "\n%s, newest first:\n", counted(len(reports), "report", "reports"))
	writeReports(&b, reports)
	return tools.WithPayload(b.String(), typeStreamDetails, struct {
		Stream  schemas.Stream   `json:"stream"`
		Reports []schemas.Report `json:"reports"`
	}{stream, withoutArticles(reports[:min(len(reports), maxReports)])})
}

func writeArticles(b *strings.Builder, articles []schemas.Article) {
	listed := articles[:min(len(articles), maxListed)]
	share := max(maxAbstracts/max(len(listed), 1), minAbstract)
	for i, a := range listed {
		fmt.Fprintf(b, "\n%d. %s\n%s. %s.", i+1, a.Title, byline(a.Authors), published(a.Journal, a.Year))
		for _, id := range [][2]string{{"PMID", a.PMID}, {"DOI", a.DOI}, {"category", a.Category}} {
			if id[1] != "" {
				b.WriteString(" " + id[0] + " " + id[1] + ".")
			}
		}
		fmt.Fprintf(b, " (article %d, report %d)\n", a.ArticleID, a.ReportID)
		if a.Abstract != "" {
			b.WriteString(text.Ellipsis(text.OneLine(a.Abstract), share) + "\n")
		}
	}
	b.WriteString(left(len(articles)))
}

func writeReports(b *strings.Builder, reports []schemas.Report) {
	listed := reports[:min(len(reports), maxListed)]
	share := min(max(maxAbstracts/max(len(listed), 1), minAbstract), maxSummary)
	for i, r := range listed {
		fmt.Fprintf(b, "\n%d. %s (report %d, stream %d, %s, %d articles)\n%s\n", i+1, r.Title, r.ReportID, r.StreamID,
			r.PublishedAt.Format("2006-01-02"), r.ArticleCount, text.Ellipsis(text.OneLine(r.Summary), share))
	}
	b.WriteString(left(len(reports)))
}

// left returns a note about how many entries a list does not show.
func left(total int) string {
	if total <= maxListed {
		return ""
	}
	return fmt.Sprintf("\n(%d more are not shown.)\n", total-maxListed)
}

// named returns err, or for an unknown id an error that names it.
func named(err error, kind string, id int64) error {
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.NewError(schemas.CodeNotFound, fmt.Sprintf("there is no %s %d", kind, id)).Because(err)
	}
	return err
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// withAuthors returns a copy in which no list of authors is null.
func withAuthors(articles []schemas.Article) []schemas.Article {
	out := make([]schemas.Article, len(articles))
	for i, a := range articles {
		if a.Authors == nil {
			a.Authors = []string{}
		}
		out[i] = a
	}
	return out
}

func withoutArticles(reports []schemas.Report) []schemas.Report {
	out := make([]schemas.Report, len(reports))
	for i, r := range reports {
		r.Articles = nil
		out[i] = r
	}
	return out
}

func atLeast(s *jsonschema.Schema, least float64, names ...string) {
	for _, name := range names {
		s.Properties[name].Minimum = &least
	}
}
