// Package research keeps the research streams, their reports and articles, and imports them.
package research

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// Limits of the research data.
const (
	maxStreams  = 10_000
	maxReports  = 10_000
	maxArticles = 1000 // articles of a report or a search
	// maxWords is how many words of a search are used.
	maxWords = 32
)

// Data is the research data. It is safe for concurrent use.
type Data struct{ db *sqldb.DB }

// New returns the data of a database.
func New(db *sqldb.DB) *Data { return &Data{db} }

// Empty reports whether there is no research data yet.
func (d *Data) Empty(ctx context.Context) (bool, error) {
	n, err := sqldb.Number(d.db.Read(ctx), "SELECT (SELECT COUNT(*) FROM streams) + (SELECT COUNT(*) FROM reports)")
	return n == 0, d.db.Fault("empty", err)
}

type streamRow struct {
	ID           int64 `gorm:"primaryKey;autoIncrement:false"`
	Name         string
	Purpose      string
	Schema       string
	Instructions string
	Owner        string
	CreatedAt    int64 `gorm:"autoCreateTime:false"`
	UpdatedAt    int64 `gorm:"autoUpdateTime:false"`
}

// TableName names the table.
func (streamRow) TableName() string { return "streams" }

func (r *streamRow) stream() schemas.Stream {
	return schemas.Stream{
		StreamID: r.ID, Name: r.Name, Purpose: r.Purpose, Schema: json.RawMessage(r.Schema), Instructions: r.Instructions, Owner: r.Owner,
		CreatedAt: values.Moment(r.CreatedAt), UpdatedAt: values.Moment(r.UpdatedAt),
	}
}

func rowOfStream(st *schemas.Stream) streamRow {
	return streamRow{
		ID: st.StreamID, Name: values.Clean(st.Name), Purpose: values.Clean(st.Purpose), Schema: values.Clean(string(st.Schema)), Instructions: values.Clean(st.Instructions),
		Owner: values.Clean(st.Owner), CreatedAt: values.Micros(st.CreatedAt), UpdatedAt: values.Micros(st.UpdatedAt),
	}
}

type reportRow struct {
	ID           int64 `gorm:"primaryKey;autoIncrement:false"`
	StreamID     int64
	Title        string
	Summary      string
	PublishedAt  int64
	ArticleCount int `gorm:"->;-:migration"`
}

// TableName names the table.
func (reportRow) TableName() string { return "reports" }

func (r *reportRow) report() schemas.Report {
	return schemas.Report{
		ReportID: r.ID, StreamID: r.StreamID, Title: r.Title, Summary: r.Summary, PublishedAt: values.Moment(r.PublishedAt), ArticleCount: r.ArticleCount,
	}
}

// articleColumns are the columns that scanArticles reads.
const articleColumns = "articles.id, report_id, pmid, doi, articles.title, articles.authors, journal, year, articles.abstract, category, url"

// scanArticles returns the articles of a query. It scans the columns itself, because gorm
// makes three times as many allocations for a row.
func scanArticles(query *gorm.DB) ([]schemas.Article, error) {
	rows, err := query.Rows()
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	found := []schemas.Article{}
	for rows.Next() {
		var a schemas.Article
		var authors []byte
		if err := rows.Scan(&a.ArticleID, &a.ReportID, &a.PMID, &a.DOI, &a.Title, &authors, &a.Journal, &a.Year, &a.Abstract, &a.Category, &a.URL); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(authors, &a.Authors); err != nil {
			return nil, fmt.Errorf("article %d: authors: %w", a.ArticleID, err)
		}
		found = append(found, a)
	}
	return found, rows.Err()
}

// Streams returns all streams in order of their ids.
func (d *Data) Streams(ctx context.Context) ([]schemas.Stream, error) {
	var rows []streamRow
	if err := d.db.Read(ctx).Order("id").Limit(maxStreams).Find(&rows).Error; err != nil {
		return nil, d.db.Fault("streams", err)
	}
	found := make([]schemas.Stream, len(rows))
	for i := range rows {
		found[i] = rows[i].stream()
	}
	return found, nil
}

// Stream returns the stream.
func (d *Data) Stream(ctx context.Context, id int64) (schemas.Stream, error) {
	var row streamRow
	if err := d.db.Read(ctx).Where("id = ?", id).Take(&row).Error; err != nil {
		return schemas.Stream{}, d.db.Fault("stream", err)
	}
	return row.stream(), nil
}

// UpdateStream applies change to the stream in one transaction and sets
// UpdatedAt. If change returns an error, the stream is not changed. Its id
// never changes.
func (d *Data) UpdateStream(ctx context.Context, id int64, change func(*schemas.Stream) error) (schemas.Stream, error) {
	var changed schemas.Stream
	var refused error
	err := d.db.Write(ctx, func(tx *gorm.DB) error {
		var row streamRow
		if err := tx.Clauses(d.db.RowLock()...).Where("id = ?", id).Take(&row).Error; err != nil {
			return err
		}
		st := row.stream()
		if refused = change(&st); refused != nil {
			return refused
		}
		st.StreamID, st.UpdatedAt = id, time.Now()
		row = rowOfStream(&st)
		changed = row.stream()
		return tx.Save(&row).Error
	})
	if refused != nil {
		return schemas.Stream{}, refused
	}
	if err != nil {
		return schemas.Stream{}, d.db.Fault("update stream", err)
	}
	return changed, nil
}

const reportColumns = "reports.*, (SELECT COUNT(*) FROM articles WHERE articles.report_id = reports.id) AS article_count"

// Reports returns the reports of a stream, newest first; streamID 0 means all streams.
func (d *Data) Reports(ctx context.Context, streamID int64) ([]schemas.Report, error) {
	tx := d.db.Read(ctx).Select(reportColumns)
	if streamID != 0 {
		tx = tx.Where("stream_id = ?", streamID)
	}
	var rows []reportRow
	if err := tx.Order("published_at DESC, id DESC").Limit(maxReports).Find(&rows).Error; err != nil {
		return nil, d.db.Fault("reports", err)
	}
	found := make([]schemas.Report, len(rows))
	for i := range rows {
		found[i] = rows[i].report()
	}
	return found, nil
}

// Report returns the report with its articles in order of their ids.
func (d *Data) Report(ctx context.Context, id int64) (schemas.Report, error) {
	var row reportRow
	if err := d.db.Read(ctx).Select(reportColumns).Where("id = ?", id).Take(&row).Error; err != nil {
		return schemas.Report{}, d.db.Fault("report", err)
	}
	report := row.report()
	var err error
	report.Articles, err = scanArticles(d.db.Read(ctx).Table("articles").Select(articleColumns).Where("report_id = ?", id).Order("id").Limit(maxArticles))
	return report, d.db.Fault("report", err)
}

// SearchArticles searches title, abstract and authors for the words of the
// query; streamID or reportID 0 means all. Articles with all words come first,
// then those with some, each best first. A query without a word finds nothing.
func (d *Data) SearchArticles(ctx context.Context, query string, streamID, reportID int64, limit int) ([]schemas.Article, error) {
	words := searchWords(query)
	limit = values.PageLimit(limit, maxArticles, maxArticles)
	found := []schemas.Article{}
	by := d.db.Search()
	for i, with := range []func(tx *gorm.DB, words []string) *gorm.DB{by.AllWords, by.AnyWord} {
		if len(words) == 0 || len(found) >= limit || i > 0 && len(words) == 1 {
			break
		}
		tx := with(d.db.Read(ctx).Table("articles").Select(articleColumns), words)
		if streamID != 0 {
			tx = tx.Where("report_id IN (SELECT id FROM reports WHERE stream_id = ?)", streamID)
		}
		if reportID != 0 {
			tx = tx.Where("report_id = ?", reportID)
		}
		if len(found) > 0 {
			tx = tx.Where("articles.id NOT IN ?", articleIDs(found))
		}
		more, err := scanArticles(tx.Limit(limit - len(found)))
		if err != nil {
			return nil, d.db.Fault("search articles", err)
		}
		found = append(found, more...)
	}
	return found, nil
}

func articleIDs(articles []schemas.Article) []int64 {
	ids := make([]int64, len(articles))
	for i := range articles {
		ids[i] = articles[i].ArticleID
	}
	return ids
}

// searchWords returns the words of a user's text: parts between white space
// that have a letter or a digit.
func searchWords(query string) []string {
	var words []string
	for word := range strings.FieldsSeq(values.Clean(query)) {
		if len(words) < maxWords && strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words = append(words, word)
		}
	}
	return words
}
