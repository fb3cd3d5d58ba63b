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
		inBody, inQuery := `"ai":`+strconv.Itoa(version)+`,`, "?ai="+strconv.Itoa(version)
		for _, at := range [][2]string{{inBody, ""}, {"", inQuery}, {inBody, "?ai=5"}} {
			body := `{"id":"c",` + at[0] + `"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`
			err := ui.Wire().Routes[0].Handle(&wires.Call{Request: httptest.NewRequest(http.MethodPost, "/api/ui"+at[1], http.NoBody), Body: []byte(body), Service: service})
			if e, ok := errors.AsType[*schemas.Error](err); !ok || e.Code != schemas.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/ai" {
				t.Errorf("the version %d (%s%s) gives %v, want an error at /ai", version, at[0], at[1], err)
			}
		}
	}
}
