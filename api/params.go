package api

import (
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// The sizes of a list's page.
const (
	defaultPage = 50
	maxPage     = 200
)

// firstID is the smallest number that the database gives out.
const firstID = 1

// pathText returns a parameter of the path as the client wrote it. Without this, echo
// leaves those of a path that has more escapes than it needs, or an escaped slash, as
// they came.
func pathText(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath != "" {
		if plain, err := url.PathUnescape(v); err == nil {
			return plain
		}
	}
	return v
}

// id returns a path parameter that is an id. A value that cannot be an id is
// not found, as an unknown id is.
func id(c echo.Context, name string) (string, error) {
	v := pathText(c, name)
	if !text.IsID(v) {
		return "", schemas.ErrNotFound
	}
	return v, nil
}

// number returns a path parameter that is a number of at least least, in its
// plain form; any other value is not found.
func number(c echo.Context, name string, least int64) (int64, error) {
	v := pathText(c, name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || strconv.FormatInt(n, 10) != v {
		return 0, schemas.ErrNotFound
	}
	return n, nil
}

func badQuery(name, detail string) error {
	return schemas.NewError(schemas.CodeBadRequest, "the query parameter "+name+" "+detail)
}

func refusedQuery(name, detail string) error {
	return schemas.NewError(schemas.CodeInvalid, "the query parameter "+name+" "+detail)
}

// queryText returns a query parameter of at most limit characters.
func queryText(c echo.Context, name string, limit int) (string, error) {
	v := c.QueryParam(name)
	if utf8.RuneCountInString(v) > limit {
		return "", refusedQuery(name, "must have at most "+strconv.Itoa(limit)+" characters")
	}
	return v, nil
}

// queryLimit returns the query parameter with the size of a list's page.
func queryLimit(c echo.Context, name string) (int, error) {
	v := c.QueryParam(name)
	if v == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(v)
	switch {
	case err != nil:
		return 0, badQuery(name, "must be an integer")
	case n < 1 || n > maxPage:
		return 0, refusedQuery(name, "must be from 1 to "+strconv.Itoa(maxPage))
	}
	return n, nil
}

// queryFlag returns a query parameter that is true or false (or absent).
func queryFlag(c echo.Context, name string) (bool, error) {
	switch c.QueryParam(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, badQuery(name, "must be true or false")
}

// queryNumber returns a query parameter that is a number; 0 when absent.
func queryNumber(c echo.Context, name string) (int64, error) {
	v := c.QueryParam(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, badQuery(name, "must be an integer")
	}
	return n, nil
}

// queryDay returns a query parameter that is a day; zero when absent.
func queryDay(c echo.Context, name string) (time.Time, error) {
	v := c.QueryParam(name)
	if v == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, v)
	if err != nil || day.Year() < 1 || day.IsZero() { // the zero time means none
		return time.Time{}, badQuery(name, "must be a day as YYYY-MM-DD")
	}
	return day, nil
}
