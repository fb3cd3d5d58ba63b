package openaiwire

import (
	"cmp"
	"encoding/json"
	"mime"
	"path"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// Content is the content of a message: a text, or parts.
type Content []Part

// Part is a part of a message in either API. Parts of other types are refused where a file
// could be meant, and ignored elsewhere.
type Part struct {
	Type     string  `json:"type"`
	Text     string  `json:"text"`
	Refusal  string  `json:"refusal"`
	ImageURL address `json:"image_url"`
	File     *file   `json:"file"` // of chat completions
	FileID   string  `json:"file_id"`
	FileData string  `json:"file_data"` // of responses
	FileURL  string  `json:"file_url"`
	Filename string  `json:"filename"`
}

type file struct {
	FileID   string `json:"file_id"`
	FileData string `json:"file_data"`
	Filename string `json:"filename"`
}

// address is a URL, or an object that has it.
type address string

// UnmarshalJSON implements json.Unmarshaler.
func (a *address) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var v struct {
			URL string `json:"url"`
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		*a = address(v.URL)
		return nil
	}
	return json.Unmarshal(raw, (*string)(a))
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]Part)(c))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	*c = nil
	if s != "" {
		*c = Content{{Type: "text", Text: s}}
	}
	return nil
}

// isText reports whether a part is text.
func (p *Part) isText() bool {
	return p.Type == "text" || p.Type == "input_text" || p.Type == "output_text"
}

// Plain returns the texts and refusals, one a line.
func (c Content) Plain() string {
	var lines []string
	for i := range c {
		switch p := &c[i]; {
		case p.isText():
			lines = append(lines, p.Text)
		case p.Type == "refusal":
			lines = append(lines, p.Refusal)
		}
	}
	return strings.Join(lines, "\n")
}

// Result returns the text of a tool's result, with a note for each part that is no text.
func (c Content) Result() string {
	lines := make([]string, len(c))
	for i := range c {
		if lines[i] = c[i].Text; !c[i].isText() {
			lines[i] = wires.LeftOut(c[i].Type)
		}
	}
	return strings.Join(lines, "\n")
}

// Asked returns the text of a message of the user.
func (c Content) Asked() string {
	var lines, files []string
	for i := range c {
		switch p := &c[i]; {
		case p.isText():
			lines = append(lines, p.Text)
		case p.File != nil:
			files = append(files, p.File.Filename)
		default:
			files = append(files, p.Filename)
		}
	}
	return wires.Text(lines, files)
}

// Files returns the files of a message whose content has the pointer at, and the pointers
// of their parts.
func (c Content) Files(at string) (files []schemas.Attachment, pointers []string, err error) {
	for i := range c {
		p, pointer := &c[i], at+"/"+strconv.Itoa(i)
		var f schemas.Attachment
		switch {
		case p.isText():
			continue
		case p.Type == "image_url", p.Type == "input_image" && p.FileID == "":
			f, err = wires.File(string(p.ImageURL), "", "", len(files)+1, pointer+"/image_url")
		case p.Type == "file" && p.File != nil && p.File.FileID == "":
			f, err = data(p.File.FileData, p.File.Filename, len(files)+1, pointer+"/file/file_data")
		case p.Type == "input_file" && p.FileID == "" && p.FileURL == "":
			f, err = data(p.FileData, p.Filename, len(files)+1, pointer+"/file_data")
		default:
			return nil, nil, schemas.Invalid(pointer, "must be a text, or an image or a file as a data: URL; the service fetches and stores no files of OpenAI's")
		}
		if err != nil {
			return nil, nil, err
		}
		files, pointers = append(files, f), append(pointers, pointer)
	}
	return files, pointers, nil
}

// data returns a file that is a data URL, or base64 with a type that its name tells.
func data(content, name string, n int, pointer string) (schemas.Attachment, error) {
	if !strings.Contains(content, ":") {
		kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
		content = "data:" + cmp.Or(kind, schemas.MediaPDF) + ";base64," + content
	}
	return wires.File(content, "", name, n, pointer)
}
