package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxHeaderRow is the longest first row of a table, in bytes.
const maxHeaderRow = 32 << 10

// HeaderRow returns the length of the first row of CSV with its line break, and
// whether the row is whole: a line break in a quoted field does not end it. A
// text longer than maxHeaderRow counts as a whole row.
func HeaderRow(csv string) (n int, whole bool) {
	quoted := false
	for i := range len(csv) {
		switch c := csv[i]; {
		case i == maxHeaderRow:
			return len(csv), true
		case quoted:
			quoted = c != '"' // the second of two quotes opens the field again
		case c == '"':
			quoted = i == 0 || csv[i-1] == ',' || csv[i-1] == '"'
		case c == '\n':
			return i + 1, true
		}
	}
	return 0, false
}

// ChartHeader finds the header at the beginning of a chart's text: one JSON
// object on lines of its own. N is the length of its lines, 0 if the text
// begins with something else; header is empty if CheckChart refuses it. Whole
// is false while more text could belong to it; ended tells that no more text
// follows.
func ChartHeader(chart string, ended bool) (header string, n int, whole bool) {
	const space = " \t\r\n"
	start := strings.TrimLeft(chart, space)
	if start == "" || start[0] != '{' {
		row := strings.Contains(start, "\n") || len(chart) > maxHeaderRow // before that it may be a StrayHeader
		return "", 0, ended || row || start != "" && !strings.ContainsAny(start[:1], "[-0123456789")
	}
	var object json.RawMessage
	d := json.NewDecoder(strings.NewReader(start))
	if err := d.Decode(&object); err != nil {
		cut := errors.Is(err, io.ErrUnexpectedEOF) && !ended && len(chart) <= maxHeaderRow
		return "", 0, !cut
	}
	after := start[d.InputOffset():]
	rest := strings.TrimLeft(after, " \t\r")
	switch {
	case rest == "" && !ended:
		return "", 0, false
	case rest != "" && rest[0] != '\n':
		return "", 0, true // the object is not on lines of its own
	}
	n = len(chart) - len(strings.TrimPrefix(rest, "\n"))
	if CheckChart(object) != nil {
		return "", n, true
	}
	return string(object), n, true
}

// StrayHeader reports whether the data of a chart begin with what was meant as its
// header: with an object, whole or not, or with a list or a number on the first line.
func StrayHeader(data string) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(data, " \t\r\n"), "\n")
	if line == "" || line[0] == '{' {
		return line != ""
	}
	return strings.ContainsAny(line[:1], "[-0123456789") && json.Valid([]byte(line))
}

// maxViews is how many views and lookups of a chart may contain each other: each is read
// once for all that contain it.
const maxViews = 20

// CheckChart returns what is wrong with the header of a chart: it must be an
// object, a Vega-Lite specification whose views and lookups have no data of their own.
func CheckChart(header json.RawMessage) error { return checkView(header, maxViews) }

// checkView is CheckChart for a view that contains others, at most so many levels.
func checkView(header json.RawMessage, levels int) error {
	if levels == 0 {
		return fmt.Errorf("must be a Vega-Lite specification with at most %d views in each other", maxViews)
	}
	var view map[string]json.RawMessage
	if json.Unmarshal(header, &view) != nil || view == nil {
		return errors.New("must be a JSON object")
	}
	for _, key := range []string{"data", "datasets"} {
		if view[key] != nil {
			return errors.New("must be a Vega-Lite specification without " + key + ": the data is the block's content, as CSV")
		}
	}
	inner := []json.RawMessage{}
	if view["spec"] != nil {
		inner = append(inner, view["spec"])
	}
	var transforms []struct{ From json.RawMessage }
	_ = json.Unmarshal(view["transform"], &transforms) // one of another shape names no data
	for _, t := range transforms {
		if t.From != nil {
			inner = append(inner, t.From)
		}
	}
	for _, key := range []string{"layer", "concat", "hconcat", "vconcat"} {
		var list []json.RawMessage
		if json.Unmarshal(view[key], &list) == nil {
			inner = append(inner, list...)
		}
	}
	for _, v := range inner {
		if err := checkView(v, levels-1); err != nil {
			return err
		}
	}
	return nil
}

// CheckImage returns what is wrong with the content of an image block: it must
// be base64 of a file of that type. An image without content has not been
// written yet.
func CheckImage(kind, content string) error {
	content = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, content)
	if content == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return errors.New("must be an image in base64")
	}
	return CheckImageFile(kind, raw)
}

// CheckImageFile returns what is wrong with the beginning of a file of an image type:
// it must be that of a file of that type.
func CheckImageFile(kind string, raw []byte) error {
	want := kind
	if want == "image/jpg" {
		want = "image/jpeg"
	}
	if want == "image/svg+xml" {
		if !bytes.Contains(raw, []byte("<svg")) {
			return errors.New("must be an image of the type " + kind + " in base64")
		}
		return nil
	}
	if is := http.DetectContentType(raw); is != want && (strings.HasPrefix(is, "image/") || signedImages[want]) {
		return errors.New("must be an image of the type " + kind + " in base64; it is " + is)
	}
	return nil
}

// signedImages are the types of images that have a signature here.
var signedImages = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/bmp": true}
