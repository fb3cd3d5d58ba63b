package ui_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/ui"
	"github.com/chattray/chattray/schemas"
)

// noStream is a stream to which nothing is written.
type noStream struct{ wires.Stream }

func (noStream) Close() {}

func TestUnknownVersionsOfTheClientAreRefused(t *testing.T) {
	service := &wires.Service{Stream: func(*wires.Call) (wires.Stream, error) { return noStream{}, nil }}
	for _, version := range []int{-1, 1, 4, 8} {
		body := `{"id":"c","ai":` + strconv.Itoa(version) + `,"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`
		err := ui.Wire().Routes[0].Handle(&wires.Call{Request: httptest.NewRequest(http.MethodPost, "/api/ui", http.NoBody), Body: []byte(body), Service: service})
		if !isInvalid(err, "/ai") {
			t.Errorf("the version %d gives %v, want an error at /ai", version, err)
		}
	}
}

func isInvalid(err error, pointer string) bool {
	e, ok := errors.AsType[*schemas.Error](err)
	return ok && e.Code == schemas.CodeInvalid && len(e.Fields) == 1 && e.Fields[0].Pointer == pointer
}
