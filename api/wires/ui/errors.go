package ui

import (
	"io"
	"net/http"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// fail answers with the message as plain text: clients show the body of an error to the
// user.
func fail(w http.ResponseWriter, status int, e *schemas.Error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Error-Code", string(e.Code))
	w.WriteHeader(status)
	text := e.Message
	if len(e.Fields) > 0 {
		var parts []string
		for _, f := range e.Fields {
			parts = append(parts, f.Pointer+" "+f.Detail)
		}
		text += ": " + strings.Join(parts, "; ")
	}
	_, _ = io.WriteString(w, text+"\n")
}
