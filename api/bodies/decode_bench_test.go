package bodies_test

import (
	"strconv"
	"strings"
	"testing"
)

// BenchmarkParse reads the body of POST /api/chat/stream: a question as a page
// sends it, one with a long history, and one of about 1 MB with a file.
func BenchmarkParse(b *testing.B) {
	for _, tt := range []struct{ name, body string }{
		{"question", benchQuestion},
		{"history", benchHistory()},
		{"1MB", benchFile()},
	} {
		b.Run(tt.name, func(b *testing.B) {
			raw := []byte(tt.body)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const benchQuestion = `{"message":"Which of these trials has a control group, and what did the others compare with?",` +
	`"chat_id":"019ac0de-0000-7000-8000-000000000001","interaction_type":"text_input","if_busy":"queue","on_disconnect":"continue",` +
	`"context":{"current_page":"research","active_tab":"reports","report_id":42,"filters":{"year":[2020,2024],"open_access":true},` +
	`"selection":["a","b","c"],"title":"Sleep \u00fc and memory"}}`

// benchHistory is a question with 50 earlier messages.
func benchHistory() string {
	var b strings.Builder
	b.WriteString(`{"message":"And then?","conversation_history":[`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"role":"user","content":` + strconv.Quote(strings.Repeat("One line of a text.\n", 20)) + `}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

// benchFile is a question with a text file of 1 MB, in lines.
func benchFile() string {
	return `{"message":"Sum this up.","attachments":[{"name":"notes.md","mime":"text/markdown","content":` +
		strconv.Quote(strings.Repeat("A line of notes that a user has attached to the question.\n", 1<<20/60)) + `}]}`
}
