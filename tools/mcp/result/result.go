// Package result makes the results of tools from the answers of MCP servers, within the
// limits of what a model and a page get.
package result

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// PayloadType is the payload type of the tools of MCP servers.
const PayloadType = "mcp_result"

// MaxText is the longest text of a result, in bytes. The rest is left out, and the text says
// so.
const MaxText = 2 << 20

// The limits of a result's payload; sizes are in bytes before base64. Larger
// parts are left out, and the text says so.
const (
	maxStructured    = 512 << 10
	maxImage         = 512 << 10
	maxImages        = 20
	maxAllImages     = 1 << 20
	maxResources     = 50
	maxResourceText  = 64 << 10
	maxResourceTexts = 256 << 10
	maxURI           = 2_000 // characters; so is the next one
	maxResourceName  = 200
	maxResourceAbout = 1_000
	maxMIME          = 100
)

// payload is the data of PayloadType.
type payload struct {
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Images     []image         `json:"images,omitempty"`
	Resources  []resource      `json:"resources,omitempty"`
}

type image struct {
	MIME string `json:"mime"`
	Data string `json:"data,omitempty"`
}

type resource struct {
	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mime,omitempty"`
	Size        int64  `json:"size,omitempty"`
	Text        string `json:"text,omitempty"`
}

// mapping builds a result.
type mapping struct {
	payload
	parts      []string // parts of the text for the model
	size       int      // bytes of parts
	imageSize  int
	textSize   int // bytes of the resources
	overflowed bool
	worded     bool // the tool gave text
}

// Of returns the result of a call of a server's tool: everything that the model can use
// becomes text, everything that the page can show becomes the payload. An error has no
// payload.
func Of(server, tool string, answer *sdk.CallToolResult) tools.Result {
	if answer.NeedsInput() {
		return tools.Result{IsError: true, Text: "the tool asks for input that cannot be given here"}
	}
	m := &mapping{payload: payload{Server: server, Tool: tool}}
	for _, content := range answer.Content {
		m.add(content)
	}
	m.structure(answer.StructuredContent)
	out := tools.Result{Text: strings.Join(m.parts, "\n\n"), IsError: answer.IsError}
	switch {
	case out.Text != "":
	case out.IsError:
		out.Text = "The tool failed and did not say why."
	default:
		out.Text = "The tool returned no content."
	}
	if answer.IsError || m.Structured == nil && m.Images == nil && m.Resources == nil {
		return out
	}
	if data, err := json.Marshal(m.payload); err == nil { // it has only plain values
		out.Payload = &turn.Payload{Type: PayloadType, Data: data}
	}
	return out
}

func (m *mapping) add(content sdk.Content) {
	switch v := content.(type) {
	case *sdk.TextContent:
		m.words(v.Text)
	case *sdk.ImageContent:
		m.image(v.MIMEType, v.Data)
	case *sdk.AudioContent:
		m.resource(resource{MIME: v.MIMEType, Size: int64(len(v.Data))}, "audio")
	case *sdk.ResourceLink:
		r := resource{URI: v.URI, Name: v.Name, Description: v.Description, MIME: v.MIMEType}
		if v.Size != nil {
			r.Size = max(*v.Size, 0)
		}
		m.resource(r, "link to a resource")
	case *sdk.EmbeddedResource:
		if v.Resource == nil {
			m.note("a resource without content")
			return
		}
		m.embedded(v.Resource)
	case unreadable:
		m.note("%s", v.Text)
	default:
		m.note("a part that is no result of a tool was left out")
	}
}

// words adds text of the tool to the model's text.
func (m *mapping) words(s string) {
	m.worded = m.worded || !text.Blank(s)
	m.text(s)
}

// text adds to the model's text, up to MaxText.
func (m *mapping) text(s string) {
	const note = "[the rest of the result is left out: it is too long]"
	const between = "\n\n"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if m.overflowed || s == "" {
		return
	}
	if room := MaxText - len(note) - len(between) - m.size; len(s) > room {
		m.overflowed = true
		m.parts = append(m.parts, text.Bytes(s, max(room, 0)), note)
		return
	}
	m.size += len(s) + len(between)
	m.parts = append(m.parts, s)
}

func (m *mapping) note(format string, args ...any) { m.text("[" + fmt.Sprintf(format, args...) + "]") }

var imageRule = regexp.MustCompile(`^image/[a-z0-9.+-]{1,60}$`)

func (m *mapping) image(mime string, data []byte) {
	mime = strings.ToLower(strings.TrimSpace(mime))
	if !imageRule.MatchString(mime) {
		m.note("an image of an unknown type was left out")
		return
	}
	if len(m.Images) >= maxImages || len(data) > maxImage || m.imageSize+len(data) > maxAllImages {
		m.note("an image of type %s and %d bytes was left out: it is too large", mime, len(data))
		return
	}
	m.imageSize += len(data)
	m.Images = append(m.Images, image{MIME: mime, Data: base64.StdEncoding.EncodeToString(data)})
	m.note("an image of type %s and %d bytes, shown to the user", mime, len(data))
}

// resource adds a resource; kind is the word for it in the model's text.
func (m *mapping) resource(r resource, kind string) {
	r.URI, r.Name = text.Printable(r.URI, maxURI), text.Printable(r.Name, maxResourceName)
	r.Description, r.MIME = text.Printable(r.Description, maxResourceAbout), text.Printable(r.MIME, maxMIME)
	about := []string{kind, r.Name, r.URI, r.MIME, r.Description}
	if r.Size > 0 {
		about = append(about, fmt.Sprintf("%d bytes", r.Size))
	}
	m.note("%s", strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), ", "))
	if len(m.Resources) < maxResources {
		m.Resources = append(m.Resources, r)
	}
}

// embedded adds a resource with its content: text goes to model and page, an
// image is shown as an image; of other data only the address is listed.
func (m *mapping) embedded(v *sdk.ResourceContents) {
	r := resource{URI: v.URI, MIME: v.MIMEType, Size: int64(max(len(v.Text), len(v.Blob)))}
	if v.Text != "" {
		r.Text = text.Bytes(strings.ToValidUTF8(v.Text, "\uFFFD"), max(0, min(maxResourceText, maxResourceTexts-m.textSize)))
		m.textSize += len(r.Text)
	}
	m.resource(r, "resource")
	if strings.HasPrefix(v.MIMEType, "image/") && len(v.Blob) > 0 {
		m.image(v.MIMEType, v.Blob)
	}
	m.words(v.Text)
}

// structure adds the structured content. The model gets it only if the tool gave
// no text, which servers should also send.
func (m *mapping) structure(v any) {
	if v == nil {
		return
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return // it was decoded from JSON
	}
	if !m.worded {
		m.text(string(raw))
	}
	if len(raw) > maxStructured {
		m.note("structured content of %d bytes is not shown to the user: it is too large", len(raw))
		return
	}
	m.Structured = raw
}
