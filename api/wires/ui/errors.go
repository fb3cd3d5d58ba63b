package ui

import (
	"io"
	"net/http"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// fail answers with the message as plain text: clients show the body of an error to the
// user.
func fail(w http.ResponseWriter, status int, e *schemas.Error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Error-Code", string(e.Code))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, wires.Sentence(e)+"\n")
}
