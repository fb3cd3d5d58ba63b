package agui

import (
	"net/http"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// problem is a problem with the member message, the only one that CopilotKit shows.
type problem struct {
	schemas.Problem

	Message string `json:"message"`
}

// fail answers with a problem: clients show the status and the body, CopilotKit the message.
func fail(w http.ResponseWriter, status int, e *schemas.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(schemas.Encode(problem{schemas.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code,
		RequestID: h.Get("X-Request-Id"), RunID: e.RunID, Errors: e.Fields,
	}, wires.Sentence(e)}), '\n'))
}
