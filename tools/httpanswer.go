package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools/outbound"
)

// Limits of the answer to a tool that a page declares, in bytes.
const (
	maxHTTPAnswer = 1 << 20
	maxHTTPError  = 500
)

// failed explains the error of an exchange. sent is true if the server may have the whole
// request. If a request that must not be repeated was sent, the code is
// CodeEffectUnknown. If the context of the call has ended for a reason that is no
// schemas.Error, the caller words it.
func (h *httpTool) failed(ctx context.Context, err error, sent bool) error {
	err = outbound.Explain(ctx, h.service(), err)
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || !sent || !h.effects {
		return err
	}
	message := seen.Message
	if seen.Code == schemas.CodeUpstreamUnavailable {
		message = h.service() + " did not answer"
	}
	return schemas.NewError(h.unknown(seen.Code), message+turn.UnknownEffect).Because(err)
}

// unknown is the code of an error after which the effect is unknown: code itself if the
// request may be repeated.
func (h *httpTool) unknown(code schemas.Code) schemas.Code {
	if h.repeatable {
		return code
	}
	return schemas.CodeEffectUnknown
}

// answer reads a response.
func (h *httpTool) answer(ctx context.Context, resp *http.Response) (Result, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPAnswer+1))
	if err == nil && len(body) > maxHTTPAnswer {
		body, err = body[:maxHTTPAnswer], outbound.ErrTooLarge
	}
	content := strings.ToValidUTF8(h.secrets.Replace(outbound.Decoded(body, resp.Header.Get("Content-Type"), "")), "\uFFFD")
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return h.unsuccessful(content, resp)
	case err == nil:
		return h.result(content, resp)
	case h.effects: // it is done, whatever is missing of the answer
		return Text(fmt.Sprintf("The service answered with status %d. Its answer is cut off:\n\n%s", resp.StatusCode, content)), nil
	}
	return Result{}, h.failed(ctx, err, true)
}

// unsuccessful returns the result for an answer that is not a success. Only a status
// from 400 to 499 says that the request had no effect, and only if it is the answer to
// the request itself, not to the one that a redirect led to.
func (h *httpTool) unsuccessful(content string, resp *http.Response) (Result, error) {
	message := fmt.Sprintf("%s answered with status %d", h.service(), resp.StatusCode)
	refused := resp.StatusCode/100 == 4 && (resp.Request == nil || resp.Request.Method == h.method)
	if h.effects && !refused {
		message += turn.UnknownEffect
	}
	if isText(resp) && strings.TrimSpace(content) != "" {
		message += ": " + text.Ellipsis(text.OneLine(content), maxHTTPError)
	}
	if h.effects && !refused {
		return Result{}, schemas.NewError(h.unknown(schemas.CodeUpstreamError), message)
	}
	return Result{Text: message, IsError: true}, nil
}

// result returns the answer for the model, and the part that the pointer names for the page.
func (h *httpTool) result(content string, resp *http.Response) (Result, error) {
	status := "The service answered with status " + strconv.Itoa(resp.StatusCode)
	if strings.TrimSpace(content) == "" {
		return Text(status + " and no content."), nil
	}
	var doc any
	isJSON := json.Valid([]byte(content)) && text.DecodeExact([]byte(content), &doc) == nil
	switch {
	case isJSON:
	case isText(resp) && h.def.Payload == "":
		return Text(content), nil
	case isText(resp):
		return Text(content + "\n\n[no card is shown: the answer is not JSON]"), nil
	case h.effects:
		return Text(status + " and with something other than text."), nil
	default:
		return Result{}, schemas.NewError(schemas.CodeUnsupportedMedia, h.service()+" answered with something other than text")
	}
	out := Text(content)
	if h.def.Payload == "" {
		return out, nil
	}
	part, ok := follow(doc, h.pointer)
	if !ok {
		out.Text += "\n\n[no card is shown: the answer has nothing at " + h.def.Payload + "]"
		return out, nil
	}
	data, err := text.Encode(part)
	if err != nil {
		return Result{}, err
	}
	out.Payload = &turn.Payload{Type: h.def.PayloadType, Data: data}
	return out, nil
}

// isText reports whether an answer is text; without a content type it may be.
func isText(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || schemas.TextMedia(kind) || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")
}

// parsePointer reads a JSON pointer (RFC 6901); "#" alone is the whole
// document, as in the pointer's form in URLs.
func parsePointer(pointer string) ([]string, error) {
	pointer = strings.TrimPrefix(pointer, "#")
	if pointer == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no JSON pointer such as /items, or # for the whole answer", pointer)
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts, nil
}

func follow(v any, pointer []string) (any, bool) {
	for _, key := range pointer {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != key {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
