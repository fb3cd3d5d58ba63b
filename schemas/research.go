package schemas

import (
	"encoding/json"
	"time"
)

// Stream is a research stream: a question that is followed over time, with its schema.
type Stream struct {
	StreamID     int64           `json:"stream_id"`
	Name         string          `json:"name"`
	Purpose      string          `json:"purpose"`
	Schema       json.RawMessage `json:"schema"`
	Instructions string          `json:"instructions,omitempty"`
	Owner        string          `json:"owner,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

// StreamUpdate is the body of PUT /api/streams/{id}; absent parts are not
// changed.
type StreamUpdate struct {
	Name         *string         `json:"name,omitempty" validate:"omitempty,min=1,max=200"`
	Purpose      *string         `json:"purpose,omitempty" validate:"omitempty,max=4000"`
	Schema       json.RawMessage `json:"schema,omitempty"`
	Instructions *string         `json:"instructions,omitempty" validate:"omitempty,max=20000"`
}

// StreamList lists streams.
type StreamList struct {
	Items []Stream `json:"items"`
}

// Report is one run of a stream: articles and their summary. Articles is set
// when one report is read.
type Report struct {
	ReportID     int64     `json:"report_id"`
	StreamID     int64     `json:"stream_id"`
	Title        string    `json:"title"`
	Summary      string    `json:"summary"`
	PublishedAt  time.Time `json:"published_at"`
	ArticleCount int       `json:"article_count"`
	Articles     []Article `json:"articles,omitempty"`
}

// ReportList lists reports, newest first.
type ReportList struct {
	Items []Report `json:"items"`
}

// Article is a publication in a report.
type Article struct {
	ArticleID int64    `json:"article_id"`
	ReportID  int64    `json:"report_id"`
	PMID      string   `json:"pmid,omitempty"`
	DOI       string   `json:"doi,omitempty"`
	Title     string   `json:"title"`
	Authors   []string `json:"authors"`
	Journal   string   `json:"journal,omitempty"`
	Year      int      `json:"year,omitempty"`
	Abstract  string   `json:"abstract,omitempty"`
	Category  string   `json:"category,omitempty"`
	URL       string   `json:"url,omitempty"`
}
