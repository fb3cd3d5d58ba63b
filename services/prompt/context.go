package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/services/pages"
)

// Limits of what a context builder loads, in characters unless noted otherwise.
const (
	maxContextArticles = 30 // articles of a report
	maxContextAuthors  = 3  // authors of an article before "et al."
	maxContextLine     = 300
	maxContextAbstract = 400
	maxContextSummary  = 4_000
	maxContextSchema   = 8_000
	contextTimeout     = 5 * time.Second
)

// Research reads the research data for prompts. An unknown id is
// schemas.ErrNotFound.
type Research interface {
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	// Report returns the report with its articles.
	Report(ctx context.Context, id int64) (schemas.Report, error)
}

// contextBuilder loads what a page shows, from the open context object of the
// request. If it cannot load something, it adds a note and never fails.
type contextBuilder func(ctx context.Context, p *Builder, in *Input) loadedContext

// onResearch returns a builder that reads the research data; without research
// data it loads nothing.
func onResearch(build func(ctx context.Context, research Research, in *Input) loadedContext) contextBuilder {
	return func(ctx context.Context, p *Builder, in *Input) loadedContext {
		if p.research == nil {
			return loadedContext{}
		}
		return build(ctx, p.research, in)
	}
}

// loadedContext is what a builder has loaded.
type loadedContext struct {
	data []contextData
	// notes name what could not be loaded, each in a few words.
	notes []string
	// outside is true if data may have text from outside.
	outside bool
	// instructions come from the stream that the page is about.
	instructions string
}

// contextData is a named text for the prompt.
type contextData struct{ name, text string }

var contextBuilders = map[string]contextBuilder{
	"report":        onResearch(reportContext),
	"stream":        onResearch(streamContext),
	documentBuilder: documentContext,
}

// documentBuilder is the builder of the page of documents; the mode agent adds it to
// those of other pages.
const documentBuilder = "document"

// ContextBuilders returns the names that `builder:` in a page file may have, in
// order.
func ContextBuilders() []string { return slices.Sorted(maps.Keys(contextBuilders)) }

func (l *loadedContext) add(name, text string) { l.data = append(l.data, contextData{name, text}) }

func (l *loadedContext) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// reportContext loads the report under report_id with its first articles, and
// its stream; without a report the stream under stream_id.
func reportContext(ctx context.Context, research Research, in *Input) loadedContext {
	id := in.Context.Int("report_id")
	if id == 0 {
		var l loadedContext
		if in.Context.Int("stream_id") != 0 {
			l = streamContext(ctx, research, in)
		}
		l.note("no report is open")
		return l
	}
	var l loadedContext
	report, err := research.Report(ctx, id)
	if err != nil {
		l.note("%s", missing("report", id, err))
		return l
	}
	l.add(fmt.Sprintf("report %d", report.ReportID), reportText(&report))
	stream, err := research.Stream(ctx, report.StreamID)
	if err != nil {
		l.note("%s", missing("stream", report.StreamID, err))
		return l
	}
	l.addStream(&stream, in.Owner, false)
	return l
}

// streamContext loads the stream under stream_id with its schema.
func streamContext(ctx context.Context, research Research, in *Input) loadedContext {
	var l loadedContext
	id := in.Context.Int("stream_id")
	if id == 0 {
		l.note("no stream is open")
		return l
	}
	stream, err := research.Stream(ctx, id)
	if err != nil {
		l.note("%s", missing("stream", id, err))
		return l
	}
	l.addStream(&stream, in.Owner, true)
	return l
}

// addStream adds a stream and its instructions. Those of another user's stream are text from
// outside: its owner may change them at any time.
func (l *loadedContext) addStream(s *schemas.Stream, user string, withSchema bool) {
	l.add(fmt.Sprintf("stream %d", s.StreamID), streamText(s, withSchema))
	l.instructions = s.Instructions
	l.outside = s.Owner != "" && s.Owner != user
}

func missing(what string, id int64, err error) string {
	if errors.Is(err, schemas.ErrNotFound) {
		return fmt.Sprintf("%s %d does not exist", what, id)
	}
	return fmt.Sprintf("%s %d could not be loaded", what, id)
}

func reportText(r *schemas.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Title: %s\nPublished: %s\n", text.Line(r.Title, maxContextLine), r.PublishedAt.UTC().Format(time.DateOnly))
	if r.Summary != "" {
		fmt.Fprintf(&b, "Summary:\n%s\n", cutText(r.Summary, maxContextSummary))
	}
	shown := r.Articles[:min(len(r.Articles), maxContextArticles)]
	total := max(r.ArticleCount, len(r.Articles))
	if len(shown) < total {
		fmt.Fprintf(&b, "Articles: %d, of which the first %d follow\n", total, len(shown))
	} else {
		fmt.Fprintf(&b, "Articles: %d\n", total)
	}
	for i := range shown {
		writeArticle(&b, i+1, &shown[i])
	}
	return b.String()
}

func writeArticle(b *strings.Builder, n int, a *schemas.Article) {
	fmt.Fprintf(b, "%d. %s", n, text.Line(a.Title, maxContextLine))
	for _, part := range []string{authorLine(a.Authors), journalLine(a)} {
		if part != "" {
			fmt.Fprintf(b, " | %s", part)
		}
	}
	fmt.Fprintf(b, " | article_id %d", a.ArticleID)
	if a.PMID != "" {
		fmt.Fprintf(b, " | PMID %s", text.Line(a.PMID, maxPromptName))
	}
	if a.DOI != "" {
		fmt.Fprintf(b, " | DOI %s", text.Line(a.DOI, maxPromptName))
	}
	if a.Category != "" {
		fmt.Fprintf(b, " | category %s", text.Line(a.Category, maxPromptName))
	}
	b.WriteByte('\n')
	if a.Abstract != "" {
		fmt.Fprintf(b, "   %s\n", text.Line(a.Abstract, maxContextAbstract))
	}
}

func authorLine(authors []string) string {
	if len(authors) > maxContextAuthors {
		return text.Line(strings.Join(authors[:maxContextAuthors], ", "), maxContextLine) + " et al."
	}
	return text.Line(strings.Join(authors, ", "), maxContextLine)
}

func journalLine(a *schemas.Article) string {
	line := text.Line(a.Journal, maxContextLine)
	if a.Year != 0 {
		line = strings.TrimSpace(fmt.Sprintf("%s %d", line, a.Year))
	}
	return line
}

func streamText(s *schemas.Stream, withSchema bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Name: %s\nPurpose: %s\n", text.Line(s.Name, maxContextLine), cutText(s.Purpose, maxContextSummary))
	if withSchema && len(s.Schema) > 0 {
		fmt.Fprintf(&b, "Schema: %s\n", shortJSON(s.Schema, maxContextSchema))
	}
	return b.String()
}

// openContext returns the other keys of the request's context object as JSON,
// one per line, with long values cut.
func openContext(page schemas.Object) string {
	keys := slices.Sorted(maps.Keys(page))
	keys = slices.DeleteFunc(keys, func(k string) bool {
		return pages.NamesUser(k) || k == "current_page" || k == "active_tab" || k == "active_subtab"
	})
	if len(keys) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("{")
	for i, key := range keys {
		if i == maxContextKeys || b.Len() > maxContextObject {
			fmt.Fprintf(&b, "\n}\n(%d more keys left out)", len(keys)-i)
			return b.String()
		}
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  %s: %s", text.JSON(text.Ellipsis(key, maxPromptName)), contextValue(page[key]))
	}
	b.WriteString("\n}")
	return b.String()
}

// contextValue returns raw on one line; a long value becomes a string with its
// beginning.
func contextValue(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "null"
	}
	if b.Len() <= maxContextValue {
		return b.String()
	}
	return text.JSON(text.Ellipsis(b.String(), maxContextValue) + fmt.Sprintf(" (cut; %d bytes in all)", b.Len()))
}
