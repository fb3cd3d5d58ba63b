package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// handle returns the handler of a route that takes In from the request and answers
// with Out as JSON. The fields of In say what they take:
//
//	path:"name"   a part of the path: a string is an id, with form:"any" any text;
//	              an int64 is a number from 1 on, or from the one in min
//	query:"name"  a query parameter: a string of at most max characters, a bool, a
//	              number, a day (time.Time) or, as an int, the size of a list's page
//	record.Match  the revisions that If-Match names
//	Body          the body, as decode returns it
//
// They are taken in the order of the fields; the first that is refused is the
// answer. handle panics when a field is of another kind.
func handle[In, Out any](s *server, call func(context.Context, schemas.User, In) (Out, error)) echo.HandlerFunc {
	sources := sourcesOf(reflect.TypeFor[In]())
	return func(c echo.Context) error {
		var in In
		fields := reflect.ValueOf(&in).Elem()
		for _, source := range sources {
			if err := source.take(s, c, fields.FieldByIndex(source.field).Addr().Interface()); err != nil {
				return err
			}
		}
		ctx, user := caller(c)
		out, err := call(ctx, user, in)
		if err != nil {
			return err
		}
		return respond(c, out)
	}
}

// Parts of In that several routes have.
type (
	// none is the In of a route that takes nothing, and the Out of one that answers
	// with no content.
	none struct{}

	runPath struct {
		Run string `path:"run_id"`
	}
	chatPath struct {
		Chat int64 `path:"conversation_id"`
	}
	messagePath struct {
		chatPath

		Message string `path:"message_id"`
	}
	payloadPath struct {
		chatPath

		Payload string `path:"payload_id"`
	}
	documentPath struct {
		Document string `path:"document_id"`
	}
	versionPath struct {
		documentPath

		Revision int64 `path:"revision"`
	}
	documentMatch struct {
		documentPath

		Match record.Match
	}
	blockMatch struct {
		Block string `path:"block_id"`
		Match record.Match
	}
	listPage struct {
		Limit  int    `query:"limit"`
		Cursor string `query:"cursor" max:"1024"`
	}
)

// taker takes a value from a request; into is a pointer to it.
type taker func(s *server, c echo.Context, into any) error

// source takes a field of In from a request.
type source struct {
	field []int
	take  taker
}

func sourcesOf(in reflect.Type) []source {
	var list []source
	for _, f := range reflect.VisibleFields(in) {
		if f.Anonymous {
			continue
		}
		take := takerOf(f)
		if take == nil {
			panic("api: no source for the field " + f.Name + " from")
		}
		list = append(list, source{f.Index, take})
	}
	return list
}

func takerOf(f reflect.StructField) taker {
	if name, ok := f.Tag.Lookup("path"); ok {
		return pathPart(name, f)
	}
	if name, ok := f.Tag.Lookup("query"); ok {
		return queryParameter(name, f)
	}
	switch {
	case f.Type == reflect.TypeFor[record.Match]():
		return taking(matching)
	case f.Name == "Body":
		return (*server).decode
	}
	return nil
}

func pathPart(name string, f reflect.StructField) taker {
	least := numberTag(f, "min", firstID)
	switch {
	case f.Type.Kind() == reflect.Int64:
		return taking(func(c echo.Context) (int64, error) { return number(c, name, int64(least)) })
	case f.Tag.Get("form") == "any":
		return taking(func(c echo.Context) (string, error) { return pathText(c, name), nil })
	case f.Type.Kind() == reflect.String:
		return taking(func(c echo.Context) (string, error) { return id(c, name) })
	}
	return nil
}

func queryParameter(name string, f reflect.StructField) taker {
	limit := numberTag(f, "max", 0)
	switch f.Type {
	case reflect.TypeFor[string]():
		return taking(func(c echo.Context) (string, error) { return queryText(c, name, limit) })
	case reflect.TypeFor[bool]():
		return taking(func(c echo.Context) (bool, error) { return queryFlag(c, name) })
	case reflect.TypeFor[int]():
		return taking(func(c echo.Context) (int, error) { return queryLimit(c, name) })
	case reflect.TypeFor[int64]():
		return taking(func(c echo.Context) (int64, error) { return queryNumber(c, name) })
	case reflect.TypeFor[time.Time]():
		return taking(func(c echo.Context) (time.Time, error) { return queryDay(c, name) })
	}
	return nil
}

func taking[T any](get func(c echo.Context) (T, error)) taker {
	return func(_ *server, c echo.Context, into any) (err error) {
		*into.(*T), err = get(c)
		return err
	}
}

// numberTag returns the number in a tag of the field, other when it has none.
func numberTag(f reflect.StructField, tag string, other int) int {
	if n, err := strconv.Atoi(f.Tag.Get(tag)); err == nil {
		return n
	}
	return other
}

// respond answers with v as JSON, marshalled before the status is sent. A document
// and a block have their revision as entity tag.
func respond(c echo.Context, v any) error {
	switch v := v.(type) {
	case none:
		return c.NoContent(http.StatusNoContent)
	case schemas.Document:
		setRevision(c, v.Revision)
	case schemas.Block:
		setRevision(c, v.Revision)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return send(c, echo.MIMEApplicationJSON, append(raw, '\n'))
}

// answerKey is where guard leaves the *limits.Answer for send.
const answerKey = "answer"

// send answers with a whole body, which counts until the client has taken it.
func send(c echo.Context, media string, raw []byte) error {
	answer, _ := c.Get(answerKey).(*limits.Answer)
	answer.Made(len(raw))
	return c.Blob(http.StatusOK, media, raw)
}

func setRevision(c echo.Context, revision int64) {
	c.Response().Header().Set(etag, `"`+strconv.FormatInt(revision, 10)+`"`)
}

// array returns items as a JSON array even when there are none.
func array[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
