package research

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/values"
)

// importTable is a table that records are stored in.
type importTable struct {
	// upsert stores a row, or replaces the one with the same id.
	upsert string
}

var (
	importedStreams  = newImportTable("streams", "name", "purpose", "schema", "instructions", "owner", "created_at", "updated_at")
	importedReports  = newImportTable("reports", "stream_id", "title", "summary", "published_at")
	importedArticles = newImportTable("articles", "report_id", "pmid", "doi", "title", "authors", "journal", "year", "abstract", "category", "url")
)

// newImportTable returns the table with the columns id and the others, in this order.
func newImportTable(name string, columns ...string) importTable {
	sets := make([]string, len(columns))
	for i, column := range columns {
		sets[i] = column + " = excluded." + column
	}
	return importTable{upsert: "INSERT INTO " + name + " (id, " + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)) +
		") ON CONFLICT (id) DO UPDATE SET " + strings.Join(sets, ", ")}
}

// importRecord is a valid record. Its parent is the id of the stream of a report, or of the
// report of an article.
type importRecord struct {
	table      *importTable
	id, parent int64
	args       []any
}

// importLine is a line with a record, its number and its length in bytes.
type importLine struct {
	n, size int
	record  importRecord
}

// readImport returns the records of the data. An error has the number of its line; it is a
// schemas.Error, without the number, if the line is invalid, and the last one otherwise, or
// if the line is too long. Empty lines are left out, as is a byte order mark at the start.
func readImport(data io.Reader) iter.Seq2[importLine, error] {
	return func(yield func(importLine, error) bool) {
		lines := bufio.NewScanner(data)
		lines.Buffer(nil, maxImportLine+len("\r\n"))
		n := 0
		for lines.Scan() {
			n++
			line := lines.Bytes()
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			}
			if len(line) > maxImportLine {
				yield(importLine{n: n}, errLongLine())
				return
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			r, err := decodeRecord(line)
			if !yield(importLine{n: n, size: len(line), record: r}, err) {
				return
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = errLongLine()
		}
		if err != nil {
			yield(importLine{n: n + 1}, err)
		}
	}
}

func errLongLine() error {
	return invalidLine(fmt.Sprintf("it is longer than %d MiB", maxImportLine>>20))
}

func invalidLine(message string) *schemas.Error {
	return schemas.NewError(schemas.CodeInvalid, message)
}

func decodeRecord(line []byte) (importRecord, error) {
	if !utf8.Valid(line) { // encoding/json would replace letters of other encodings
		return importRecord{}, invalidLine("it is not text in UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return importRecord{}, invalidLine("it is not a JSON object").Because(brief(err))
	}
	if fault := jsonlimit.Unambiguous(line); fault != nil { // encoding/json would take the last of two values
		return importRecord{}, invalidLine(fault.Error())
	}
	for name := range fields { // nor does it look at letter case
		if strings.Trim(name, fieldLetters) != "" {
			return importRecord{}, invalidLine(fmt.Sprintf("the field %.40q is unknown", name))
		}
	}
	var kind kindField
	if err := json.Unmarshal(line, &kind); err != nil {
		return importRecord{}, invalidLine("kind must be stream, report or article").Because(brief(err))
	}
	switch kind.Kind {
	case "stream":
		return streamRecord(line)
	case "report":
		return reportRecord(line)
	case "article":
		return articleRecord(line)
	default:
		return importRecord{}, invalidLine("kind must be stream, report or article")
	}
}

// brief returns an error of encoding/json, which repeats names and numbers however long they
// are, with the beginning of its text.
func brief(err error) error { return fmt.Errorf("%.100s", err.Error()) }

// fieldLetters are the characters of the names of fields.
const fieldLetters = "abcdefghijklmnopqrstuvwxyz_"

// wordOf has the words for the types of fields.
var wordOf = map[reflect.Kind]string{reflect.String: "text", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Slice: "a list"}

// decodeLine decodes a record; a field that its schema does not have is an
// error.
func decodeLine(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wordOf[wrong.Type.Kind()] != "" {
		name := wrong.Field[strings.LastIndex(wrong.Field, ".")+1:]
		return invalidLine(fmt.Sprintf("the field %s must be %s, not a JSON %.40s", name, wordOf[wrong.Type.Kind()], wrong.Value))
	}
	if err != nil {
		return invalidLine("a field is unknown or of the wrong type").Because(brief(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalidLine("there is something after the object")
	}
	return nil
}

type kindField struct {
	Kind string `json:"kind"`
}

func streamRecord(line []byte) (importRecord, error) {
	var in struct {
		kindField
		schemas.Stream
	}
	if err := decodeLine(line, &in); err != nil {
		return importRecord{}, err
	}
	if in.StreamID <= 0 || in.Name == "" {
		return importRecord{}, invalidLine("a stream needs stream_id and name")
	}
	if len(in.Schema) == 0 || string(in.Schema) == "null" {
		in.Schema = json.RawMessage("{}")
	}
	if in.Schema[0] != '{' {
		return importRecord{}, invalidLine("schema must be an object")
	}
	if err := datable(in.CreatedAt, in.UpdatedAt); err != nil {
		return importRecord{}, err
	}
	row := rowOfStream(&in.Stream)
	return importRecord{table: &importedStreams, id: row.ID, args: []any{
		row.ID, row.Name, row.Purpose, row.Schema, row.Instructions, row.Owner, row.CreatedAt, row.UpdatedAt,
	}}, nil
}

func reportRecord(line []byte) (importRecord, error) {
	var in struct {
		kindField
		schemas.Report
	}
	if err := decodeLine(line, &in); err != nil {
		return importRecord{}, err
	}
	if in.ReportID <= 0 || in.Title == "" {
		return importRecord{}, invalidLine("a report needs report_id and title")
	}
	if len(in.Articles) > 0 {
		return importRecord{}, invalidLine("articles belong on lines of their own")
	}
	if err := datable(in.PublishedAt); err != nil {
		return importRecord{}, err
	}
	return importRecord{table: &importedReports, id: in.ReportID, parent: in.StreamID, args: []any{
		in.ReportID, in.StreamID, values.Clean(in.Title), values.Clean(in.Summary), values.Micros(in.PublishedAt),
	}}, nil
}

func articleRecord(line []byte) (importRecord, error) {
	var in struct {
		kindField
		schemas.Article
	}
	if err := decodeLine(line, &in); err != nil {
		return importRecord{}, err
	}
	if in.ArticleID <= 0 || in.Title == "" {
		return importRecord{}, invalidLine("an article needs article_id and title")
	}
	authors := slices.Clone(in.Authors)
	if authors == nil {
		authors = []string{}
	}
	for i := range authors {
		authors[i] = values.Clean(authors[i])
	}
	list, err := text.Encode(authors)
	if err != nil {
		return importRecord{}, err
	}
	return importRecord{table: &importedArticles, id: in.ArticleID, parent: in.ReportID, args: []any{
		in.ArticleID, in.ReportID, values.Clean(in.PMID), values.Clean(in.DOI), values.Clean(in.Title), string(list), values.Clean(in.Journal), in.Year, values.Clean(in.Abstract),
		values.Clean(in.Category), values.Clean(in.URL),
	}}, nil
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
