package ui_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/ui"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// onePage is a chat of which one page is read.
type onePage struct {
	wires.Chats

	next  string
	asked record.MessageQuery
}

func (*onePage) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: 1}, nil
}

func (p *onePage) Get(_ context.Context, _ schemas.User, _ int64, q record.MessageQuery) (schemas.Chat, error) {
	p.asked = q
	return schemas.Chat{NextCursor: p.next}, nil
}

// TestPagesOfMessages reads the messages of a chat page by page, the newest first.
func TestPagesOfMessages(t *testing.T) {
	for _, tt := range []struct {
		query, next, want string
		asked             record.MessageQuery
	}{
		{"", "", `{"messages":[]}`, record.MessageQuery{Limit: 200}},
		{"?limit=1", "c2", `{"messages":[],"next_cursor":"c2"}`, record.MessageQuery{Limit: 1}},
		{"?limit=200&cursor=c2", "", `{"messages":[]}`, record.MessageQuery{Limit: 200, Cursor: "c2"}},
	} {
		page := &onePage{next: tt.next}
		var got string
		c := &wires.Call{
			Request: httptest.NewRequest(http.MethodGet, "/api/ui/k/messages"+tt.query, http.NoBody), Service: &wires.Service{Chats: page},
			Param: func(string) string { return "k" }, Large: func() error { return nil },
			Send: func(body []byte) error {
				got = string(body)
				return nil
			},
		}
		if err := ui.Wire().Routes[3].Handle(c); err != nil || got != tt.want+"\n" || page.asked != tt.asked {
			t.Errorf("%s: got %s (%v) of %+v, want %s of %+v", tt.query, got, err, page.asked, tt.want, tt.asked)
		}
	}
}
