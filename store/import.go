package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of an import.
const (
	maxImport     = 256 << 20
	maxImportLine = 8 << 20
)

// Counts are how many records an import had.
type Counts struct {
	Streams, Reports, Articles int
}

// Import reads research data as JSON lines,
//
//	{"kind": "stream", "stream_id": 1, "name": "…", …}
//
// with kind stream, report or article and the fields of that schema. A record
// replaces the one with the same id. A stream comes before its reports, a
// report before its articles. On an error nothing is imported; the error names
// the line, and is a schemas.Error if the data are invalid.
func (s *Store) Import(ctx context.Context, from io.Reader) (Counts, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxImport+1))
	if err != nil {
		return Counts{}, fmt.Errorf("store: import: %w", err)
	}
	if len(data) > maxImport {
		return Counts{}, schemas.NewError(schemas.CodeTooLarge, "the data to import are too large")
	}
	var counts Counts
	err = s.db.load(ctx, func(tx *gorm.DB) (err error) {
		if counts, err = importLines(tx, data); err != nil {
			return err
		}
		return s.db.imported(tx)
	})
	if err != nil {
		return Counts{}, s.fault("import", err)
	}
	return counts, nil
}

func importLines(tx *gorm.DB, data []byte) (Counts, error) {
	var counts Counts
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxImportLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		err := importLine(tx, line, &counts)
		if invalid, ok := errors.AsType[*schemas.Error](err); ok { // invalidLine made it, for this line
			invalid.Message = fmt.Sprintf("line %d: %s", n, invalid.Message)
			return counts, err
		}
		if err != nil {
			return counts, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return counts, invalidLine(fmt.Sprintf("line %d cannot be read", n+1)).Because(err)
	}
	return counts, nil
}

// importLine stores one record.
func importLine(tx *gorm.DB, line []byte, counts *Counts) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return invalidLine("it is not a JSON object").Because(err)
	}
	switch kind.Kind {
	case "stream":
		counts.Streams++
		return importStream(tx, line)
	case "report":
		counts.Reports++
		return importReport(tx, line)
	case "article":
		counts.Articles++
		return importArticle(tx, line)
	default:
		return invalidLine("kind must be stream, report or article")
	}
}

func invalidLine(message string) *schemas.Error {
	return schemas.NewError(schemas.CodeInvalid, message)
}

// decodeLine decodes a record; a field that its schema does not have is an
// error.
func decodeLine(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return invalidLine("a field is unknown or of the wrong type").Because(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalidLine("there is something after the object")
	}
	return nil
}

type kindField struct {
	Kind string `json:"kind"`
}

func importStream(tx *gorm.DB, line []byte) error {
	var in struct {
		kindField
		schemas.Stream
	}
	if err := decodeLine(line, &in); err != nil {
		return err
	}
	if in.StreamID <= 0 || in.Name == "" {
		return invalidLine("a stream needs stream_id and name")
	}
	if len(in.Schema) == 0 || string(in.Schema) == "null" {
		in.Schema = json.RawMessage("{}")
	}
	if in.Schema[0] != '{' {
		return invalidLine("schema must be an object")
	}
	if err := datable(in.CreatedAt, in.UpdatedAt); err != nil {
		return err
	}
	row := rowOfStream(&in.Stream)
	return upsert(tx, &row)
}

func importReport(tx *gorm.DB, line []byte) error {
	var in struct {
		kindField
		schemas.Report
	}
	if err := decodeLine(line, &in); err != nil {
		return err
	}
	if in.ReportID <= 0 || in.Title == "" {
		return invalidLine("a report needs report_id and title")
	}
	if len(in.Articles) > 0 {
		return invalidLine("articles belong on lines of their own")
	}
	if err := datable(in.PublishedAt); err != nil {
		return err
	}
	if err := known(tx, "streams", in.StreamID, "stream_id"); err != nil {
		return err
	}
	row := reportRow{ID: in.ReportID, StreamID: in.StreamID, Title: clean(in.Title), Summary: clean(in.Summary), PublishedAt: micros(in.PublishedAt)}
	return upsert(tx, &row)
}

func importArticle(tx *gorm.DB, line []byte) error {
	var in struct {
		kindField
		schemas.Article
	}
	if err := decodeLine(line, &in); err != nil {
		return err
	}
	if in.ArticleID <= 0 || in.Title == "" {
		return invalidLine("an article needs article_id and title")
	}
	if err := known(tx, "reports", in.ReportID, "report_id"); err != nil {
		return err
	}
	authors := slices.Clone(in.Authors)
	if authors == nil {
		authors = []string{}
	}
	for i := range authors {
		authors[i] = clean(authors[i])
	}
	list, err := text.Encode(authors)
	if err != nil {
		return err
	}
	row := articleRow{
		ID: in.ArticleID, ReportID: in.ReportID, PMID: clean(in.PMID), DOI: clean(in.DOI), Title: clean(in.Title), Authors: string(list),
		Journal: clean(in.Journal), Year: in.Year, Abstract: clean(in.Abstract), Category: clean(in.Category), URL: clean(in.URL),
	}
	return upsert(tx, &row)
}

// datable returns an error if a time cannot be written as JSON in UTC.
func datable(times ...time.Time) error {
	for _, t := range times {
		if year := t.UTC().Year(); year < 0 || year > 9999 {
			return invalidLine("a time must be in the years 0 to 9999 (UTC)")
		}
	}
	return nil
}

// known returns an error unless the row that a record refers to exists.
func known(tx *gorm.DB, table string, id int64, field string) error {
	var n int64
	if err := tx.Table(table).Where("id = ?", id).Count(&n).Error; err != nil {
		return err
	}
	if n == 0 {
		return invalidLine(fmt.Sprintf("%s %d does not exist", field, id))
	}
	return nil
}

func upsert(tx *gorm.DB, row any) error {
	return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(row).Error
}
