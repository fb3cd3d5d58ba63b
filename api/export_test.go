package api

import (
	"context"
	"io"
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Row is a row of the route table.
type Row struct {
	Method, Path   string
	Public, Stream bool
	Body           bool
	// Files says that the body may hold files.
	Files bool
	// Wire says that the route is of a wire.
	Wire bool
}

// AppendChatFrame appends the frame of an event in the dialect chat; the payload of
// complete has no diagnostics.
func AppendChatFrame(dst []byte, e *runlog.Event) []byte {
	return dialects.Named("chat").Open(new(dialects.Reader)).Append(dst, e)
}

// FileName returns the header that names a file after a title.
func FileName(title string) string {
	c := echo.New().NewContext(nil, httptest.NewRecorder())
	asFile(c, title, "other", ".md")
	return c.Response().Header().Get(echo.HeaderContentDisposition)
}

// Table returns the route table without the files of the web page.
func Table() []Row {
	var rows []Row
	s := &server{wires: all.Wires()}
	for _, r := range s.routes() {
		if r.path != pageFiles {
			rows = append(rows, Row{r.method, r.path, r.public, r.stream, r.body != noBody, r.body == filesBody || r.body == blockBody, s.wireOf(r.path) != nil})
		}
	}
	return rows
}

// Status returns the status of an error code; 0 when the table has none.
func Status(code schemas.Code) int { return statusByCode[code].status }

var parser = server{valid: newValidator(defaultMessage)}

// Parse decodes a chat request as the routes do.
func Parse(raw []byte) (schemas.ChatRequest, error) {
	return parse[schemas.ChatRequest](raw, parser.check)
}

// WellFormed reports whether raw is JSON, by the scanner of bodies.
func WellFormed(raw []byte) bool { return !inspect(raw, rawType).failed }

// SendBuffer is the size of a socket's send buffer.
const SendBuffer = sendBuffer

// ReadBodies returns a function that reads bodies under a limit for a user and
// one for all; held returns how many bytes count for a user, and for all.
func ReadBodies(perUser, all int64) (read func(user string, r io.Reader, length, limit int64) (release func(), err error), held func(user string) (int64, int64)) {
	b := newBodies(perUser, all)
	return func(user string, r io.Reader, length, limit int64) (func(), error) {
			h, err := b.read(user, r, length, limit)
			return h.release, err
		}, func(user string) (int64, int64) {
			var own, all int64
			_ = b.held.Add(user, 0, func(ownNow, allNow int64) error { own, all = ownNow, allNow; return nil })
			return own, all
		}
}

// BeginAnswers returns a function that begins answers under a limit for a user and one
// for all.
func BeginAnswers(perUser, all int64) func(ctx context.Context, user string, large bool) (made func(bytes int), release func(), err error) {
	a := newAnswers(perUser, all)
	return func(ctx context.Context, user string, large bool) (func(int), func(), error) {
		h, err := a.begin(ctx, user, large)
		if err != nil {
			return nil, nil, err
		}
		return h.made, h.release, nil
	}
}

// ErrOverLimit says that a body is longer than it may be.
var ErrOverLimit = errOverLimit

// OfFrame is the error about a frame that an error about its request becomes.
var OfFrame = ofFrame

// ParseEvent decodes an event of a websocket as its socket does.
func ParseEvent(raw []byte) (schemas.SocketEvent, error) {
	return parse[schemas.SocketEvent](raw, parser.check)
}
