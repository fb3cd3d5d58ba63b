package transport

import (
	"context"
	"io"
	"log/slog"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Noticed passes the progress in the body of a remote server's response to take.
func Noticed(body io.ReadCloser, take func(*sdk.ProgressNotificationParams)) io.ReadCloser {
	return &events{body: body, take: take, link: &Link{}}
}

// Lines passes the progress in the output of a local server to take.
func Lines(out io.ReadCloser, take func(*sdk.ProgressNotificationParams)) io.ReadCloser {
	return newMessageLines(out, Options{Secrets: strings.NewReplacer(), Logger: slog.New(slog.DiscardHandler)}.lineLog(""), take)
}

// Begun returns a link that does nothing, and a call of it that is under way until done.
func Begun(ctx context.Context) (_ *Link, done func()) {
	l := &Link{calls: map[string]*activeCall{}}
	_, _, done = l.begin(ctx, func(string, float64) {})
	return l, done
}
