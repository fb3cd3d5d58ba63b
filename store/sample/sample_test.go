package sample_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sample"
)

const maxSampleSize = 300 << 10

type data struct {
	streams  map[int64]schemas.Stream
	reports  map[int64]schemas.Report
	articles map[int64]schemas.Article
}

// load decodes every line strictly; references must resolve to earlier lines.
func load(t *testing.T) data {
	t.Helper()
	d := data{map[int64]schemas.Stream{}, map[int64]schemas.Report{}, map[int64]schemas.Article{}}
	lines := bufio.NewScanner(sample.Open())
	lines.Buffer(nil, 64<<10)
	for n := 1; lines.Scan(); n++ {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		switch head.Kind {
		case "stream":
			s := strict[schemas.Stream](t, n, lines.Bytes())
			add(t, n, d.streams, s.StreamID, s)
		case "report":
			r := strict[schemas.Report](t, n, lines.Bytes())
			add(t, n, d.reports, r.ReportID, r)
			if _, ok := d.streams[r.StreamID]; !ok {
				t.Errorf("line %d: report %d is of an unknown stream %d", n, r.ReportID, r.StreamID)
			}
		case "article":
			a := strict[schemas.Article](t, n, lines.Bytes())
			add(t, n, d.articles, a.ArticleID, a)
			if _, ok := d.reports[a.ReportID]; !ok {
				t.Errorf("line %d: article %d is of an unknown report %d", n, a.ArticleID, a.ReportID)
			}
		default:
			t.Errorf("line %d: kind %q", n, head.Kind)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return d
}

// strict decodes line without its kind into T and refuses unknown fields.
func strict[T any](t *testing.T, n int, line []byte) T {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatalf("line %d: %v", n, err)
	}
	delete(fields, "kind")
	rest, err := json.Marshal(fields)
	if err != nil {
		t.Fatalf("line %d: %v", n, err)
	}
	var v T
	dec := json.NewDecoder(bytes.NewReader(rest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("line %d: %v", n, err)
	}
	return v
}

func add[T any](t *testing.T, n int, into map[int64]T, id int64, v T) {
	t.Helper()
	if _, ok := into[id]; ok || id <= 0 {
		t.Errorf("line %d: id %d is used twice or is not positive", n, id)
	}
	into[id] = v
}

func TestLinesAreWhole(t *testing.T) {
	d := load(t)
	if len(d.streams) < 3 || len(d.reports) < 6 || len(d.articles) < 50 {
		t.Errorf("got %d streams, %d reports, %d articles", len(d.streams), len(d.reports), len(d.articles))
	}
	instructed := 0
	for id, s := range d.streams {
		if s.Name == "" || s.Purpose == "" || s.CreatedAt.IsZero() || s.UpdatedAt.IsZero() {
			t.Errorf("stream %d lacks a part: %+v", id, s)
		}
		if s.Instructions != "" {
			instructed++
		}
		var schema struct {
			Semantic  struct{ Topics []string }
			Retrieval struct{ Query string }
		}
		if err := json.Unmarshal(s.Schema, &schema); err != nil || len(schema.Semantic.Topics) == 0 || schema.Retrieval.Query == "" {
			t.Errorf("stream %d: schema %s (%v)", id, s.Schema, err)
		}
	}
	if instructed == 0 {
		t.Error("no stream has custom instructions, want at least one")
	}
	for id, r := range d.reports {
		if r.Title == "" || r.Summary == "" || r.PublishedAt.IsZero() {
			t.Errorf("report %d lacks a part: %+v", id, r)
		}
	}
}

func TestArticles(t *testing.T) {
	d := load(t)
	pmid := regexp.MustCompile(`^[1-9][0-9]{0,7}$`)
	doi := regexp.MustCompile(`^10\.[0-9]{4,}/\S+$`)
	type key struct {
		report int64
		id     string
	}
	seen := map[key]int64{}
	perReport := map[int64]int{}
	for id, a := range d.articles {
		perReport[a.ReportID]++
		if a.Title == "" || len(a.Authors) == 0 || a.Abstract == "" || a.Category == "" || a.Year < 1900 {
			t.Errorf("article %d lacks a part: %+v", id, a)
		}
		for _, ref := range []struct {
			value string
			form  *regexp.Regexp
		}{{a.PMID, pmid}, {a.DOI, doi}} {
			if ref.value == "" {
				continue
			}
			if !ref.form.MatchString(ref.value) {
				t.Errorf("article %d: %q is no identifier", id, ref.value)
			}
			if other, ok := seen[key{a.ReportID, ref.value}]; ok {
				t.Errorf("articles %d and %d of report %d are both %s", other, id, a.ReportID, ref.value)
			}
			seen[key{a.ReportID, ref.value}] = id
		}
	}
	for id := range d.reports {
		if perReport[id] < 6 || perReport[id] > 30 {
			t.Errorf("report %d has %d articles, want 6 to 30", id, perReport[id])
		}
	}
}

func TestSize(t *testing.T) {
	all, err := io.ReadAll(sample.Open())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || len(all) > maxSampleSize {
		t.Errorf("the sample has %d bytes, want 1 to %d", len(all), maxSampleSize)
	}
	if all[len(all)-1] != '\n' {
		t.Error("the last line has no line break, want one")
	}
}
