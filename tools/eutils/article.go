package eutils

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	plain "github.com/chattray/chattray/schemas/text"
)

// Article is a record of PubMed. Missing fields are empty; Year 0 is unknown.
type Article struct {
	PMID    string
	Title   string
	Authors []string
	// Journal is the book's title for a chapter.
	Journal  string
	Year     int
	DOI      string
	Abstract []Section
	MeSH     []string
	Types    []string
}

// Section is a part of an abstract. Label may be empty.
type Section struct {
	Label string `json:"label,omitempty"`
	Text  string `json:"text"`
}

// URL is the article's page.
func (a Article) URL() string { return "https://pubmed.ncbi.nlm.nih.gov/" + a.PMID + "/" }

// Fetch runs efetch: the whole records, in the order of ids. Ids without a
// record are left out.
func (c *Client) Fetch(ctx context.Context, hold Hold, ids []string) ([]Article, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	body, err := c.get(ctx, hold, "efetch.fcgi", url.Values{"retmode": {"xml"}, "rettype": {"abstract"}, "id": {join(ids)}})
	if err != nil {
		return nil, err
	}
	found, err := parseArticles(body)
	if err != nil {
		return nil, err
	}
	out := make([]Article, 0, len(found))
	for _, id := range ids {
		for _, a := range found {
			if a.PMID == id {
				out = append(out, a)
				break
			}
		}
	}
	return out, nil
}

// parseArticles reads efetch's XML: a PubmedArticleSet of articles and books.
func parseArticles(body []byte) ([]Article, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = charset.NewReaderLabel
	d.Entity = xml.HTMLEntity
	out := []Article{}
	inside := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && inside {
			return out, nil
		}
		if err != nil {
			return nil, failure("PubMed answered with something that cannot be read", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "PubmedArticleSet", "PubmedBookArticleSet":
			inside = true
			continue
		case "PubmedArticle":
			var r articleRecord
			if err = d.DecodeElement(&r, &start); err == nil {
				out = append(out, r.article())
			}
		case "PubmedBookArticle":
			var r bookRecord
			if err = d.DecodeElement(&r, &start); err == nil {
				out = append(out, r.article())
			}
		case "eFetchResult":
			var r struct {
				Error string `xml:"ERROR"`
			}
			if err = d.DecodeElement(&r, &start); err == nil {
				return nil, failure("PubMed could not look up the articles", reason(r.Error))
			}
		default:
			if inside { // an element after it
				err = d.Skip()
			} else {
				return nil, failure("PubMed answered with something other than a list of articles", nil)
			}
		}
		if err != nil {
			return nil, failure("PubMed answered with something that cannot be read", err)
		}
	}
}

// text is an element's whole text without the mark-up inside it; exponents and fractions keep a mark.
type text string

func (t *text) UnmarshalXML(d *xml.Decoder, _ xml.StartElement) error {
	var flat plain.Flat
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			depth++
			flat.Start(x.Name.Local)
		case xml.EndElement:
			if depth--; depth > 0 {
				flat.End()
			}
		case xml.CharData:
			flat.Text(string(x))
		}
	}
	*t = text(flat.String())
	return nil
}

// tidy turns each run of white space into one space.
func tidy(s string) string { return strings.Join(strings.Fields(s), " ") }

// The parts of the records, by the names of NCBI's DTD.
type (
	date struct {
		Year        string `xml:"Year"`
		MedlineDate string `xml:"MedlineDate"`
	}
	author struct {
		LastName, ForeName, Initials, Suffix text
		CollectiveName                       text
	}
	authorList struct {
		Type    string   `xml:"Type,attr"`
		Authors []author `xml:"Author"`
	}
	abstract struct {
		Parts []abstractText `xml:"AbstractText"`
	}
	typedID struct {
		Type  string `xml:"IdType,attr"`
		EType string `xml:"EIdType,attr"`
		Valid string `xml:"ValidYN,attr"`
		Value string `xml:",chardata"`
	}
	heading struct {
		Descriptor text   `xml:"DescriptorName"`
		Qualifiers []text `xml:"QualifierName"`
	}
	articleRecord struct {
		PMID    string `xml:"MedlineCitation>PMID"`
		Article struct {
			Journal struct {
				Title text `xml:"Title"`
				Short text `xml:"ISOAbbreviation"`
				Date  date `xml:"JournalIssue>PubDate"`
			} `xml:"Journal"`
			Title      text         `xml:"ArticleTitle"`
			Vernacular text         `xml:"VernacularTitle"`
			Locations  []typedID    `xml:"ELocationID"`
			Abstract   abstract     `xml:"Abstract"`
			Authors    []authorList `xml:"AuthorList"`
			Types      []text       `xml:"PublicationTypeList>PublicationType"`
			Date       date         `xml:"ArticleDate"`
		} `xml:"MedlineCitation>Article"`
		Other    []abstract `xml:"MedlineCitation>OtherAbstract"`
		Headings []heading  `xml:"MedlineCitation>MeshHeadingList>MeshHeading"`
		IDs      []typedID  `xml:"PubmedData>ArticleIdList>ArticleId"`
	}
	bookRecord struct {
		Document struct {
			PMID string    `xml:"PMID"`
			IDs  []typedID `xml:"ArticleIdList>ArticleId"`
			Book struct {
				Title   text         `xml:"BookTitle"`
				Date    date         `xml:"PubDate"`
				Authors []authorList `xml:"AuthorList"`
			} `xml:"Book"`
			Title    text         `xml:"ArticleTitle"`
			Authors  []authorList `xml:"AuthorList"`
			Types    []text       `xml:"PublicationType"`
			Abstract abstract     `xml:"Abstract"`
			Date     date         `xml:"ContributionDate"`
		} `xml:"BookDocument"`
	}
)

// abstractText decodes a section with its label.
type abstractText Section

func (s *abstractText) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	for _, attr := range start.Attr {
		if attr.Name.Local == "Label" && attr.Value != "UNLABELLED" {
			s.Label = tidy(attr.Value)
		}
	}
	var t text
	err := t.UnmarshalXML(d, start)
	s.Text = string(t)
	return err
}

func (r articleRecord) article() Article {
	src := r.Article
	a := Article{
		PMID: strings.TrimSpace(r.PMID), Title: untitled(first(string(src.Title), string(src.Vernacular))),
		Authors: names(src.Authors), Journal: first(string(src.Journal.Title), string(src.Journal.Short)),
		Year: src.Journal.Date.year(), Abstract: src.Abstract.sections(), Types: texts(src.Types), DOI: doi(r.IDs),
	}
	if a.Year == 0 {
		a.Year = src.Date.year()
	}
	for _, other := range r.Other {
		if len(a.Abstract) == 0 {
			a.Abstract = other.sections()
		}
	}
	if a.DOI == "" {
		a.DOI = doi(src.Locations)
	}
	for _, h := range r.Headings {
		term := string(h.Descriptor)
		if q := texts(h.Qualifiers); len(q) > 0 {
			term += " / " + strings.Join(q, ", ")
		}
		if term != "" {
			a.MeSH = append(a.MeSH, term)
		}
	}
	return a
}

func (r bookRecord) article() Article {
	src := r.Document
	a := Article{
		PMID: strings.TrimSpace(src.PMID), Title: untitled(first(string(src.Title), string(src.Book.Title))),
		Authors: names(src.Authors), Journal: string(src.Book.Title), Year: src.Book.Date.year(),
		Abstract: src.Abstract.sections(), Types: texts(src.Types), DOI: doi(src.IDs),
	}
	if a.Year == 0 {
		a.Year = src.Date.year()
	}
	if len(a.Authors) == 0 {
		a.Authors = names(src.Book.Authors)
	}
	return a
}

// untitled removes the brackets around translated titles, and replaces an empty title.
func untitled(title string) string {
	if inner, ok := strings.CutPrefix(title, "["); ok {
		inner = strings.TrimSuffix(inner, ".")
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			title = inner
		}
	}
	return first(title, "(no title)")
}

func (d date) year() int {
	if y := year(d.Year); y != 0 {
		return y
	}
	return year(d.MedlineDate)
}

func (a abstract) sections() []Section {
	var out []Section
	for _, p := range a.Parts {
		if p.Text != "" {
			out = append(out, Section(p))
		}
	}
	return out
}

// names returns names as "Last AB", as in PubMed's citations: the editors where
// there are no authors.
func names(lists []authorList) []string {
	out, editors := []string{}, []string{}
	for _, l := range lists {
		for _, a := range l.Authors {
			name := a.name()
			switch {
			case name == "":
			case l.Type == "editors":
				editors = append(editors, name)
			default:
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return editors
	}
	return out
}

func (a author) name() string {
	if a.CollectiveName != "" {
		return string(a.CollectiveName)
	}
	given := first(string(a.Initials), string(a.ForeName))
	return tidy(string(a.LastName) + " " + given + " " + string(a.Suffix))
}

func texts(in []text) []string {
	var out []string
	for _, t := range in {
		if t != "" {
			out = append(out, string(t))
		}
	}
	return out
}

func doi(ids []typedID) string {
	for _, id := range ids {
		if (id.Type == "doi" || id.EType == "doi") && id.Valid != "N" {
			return strings.TrimSpace(id.Value)
		}
	}
	return ""
}
