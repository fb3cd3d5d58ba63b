package api

import (
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/bodies"
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

var rules = bodies.NewRules(defaultMessage)

// Parse decodes a chat request as the routes do.
func Parse(raw []byte) (schemas.ChatRequest, error) {
	return bodies.Parse[schemas.ChatRequest](raw, rules)
}

// SendBuffer is the size of a socket's send buffer.
const SendBuffer = sendBuffer
