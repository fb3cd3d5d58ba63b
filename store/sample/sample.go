// Package sample has the bundled research data: streams, reports and articles
// as JSON lines, so that the pages work without configuration.
//
// Each line is one object: `kind` is stream, report or article, the other
// fields are the fields of schemas.Stream, schemas.Report or schemas.Article. A
// stream comes before its reports, a report before its articles; ids are the
// sample's own. Titles, authors, journals, years, DOIs and PubMed ids are
// facts; purposes, summaries and abstracts are our own words.
package sample

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
)

//go:embed *.jsonl
var files embed.FS

// Open returns all lines, in the order in which they can be imported.
func Open() io.Reader {
	names, err := fs.Glob(files, "*.jsonl")
	if err != nil {
		panic("sample: " + err.Error()) // the pattern is a constant
	}
	parts := make([]io.Reader, 0, len(names))
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic("sample: " + err.Error()) // the name was listed from the same files
		}
		parts = append(parts, bytes.NewReader(data))
	}
	return io.MultiReader(parts...)
}
