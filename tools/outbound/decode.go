package outbound

import (
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// maxDeclaration is where an XML declaration ends at the latest, in bytes.
const maxDeclaration = 200

// xmlDeclaration matches the encoding of an XML document.
var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*encoding=["']([A-Za-z0-9._-]+)`)

// Windows1252 is the encoding of pages that do not say theirs and are not in UTF-8, as browsers
// take it.
const Windows1252 = "windows-1252"

// Decoded returns a body as UTF-8 without a byte order mark; what is not valid in its encoding
// may stay as it is. The encoding comes from the mark, the content type or the declaration of
// XML and HTML. Without them it is UTF-8 if it is valid, else the one called otherwise; empty
// leaves it as it is. JSON is UTF-8 whatever its charset says, if it is valid.
func Decoded(body []byte, contentType, otherwise string) string {
	kind, _, _ := mime.ParseMediaType(contentType) // an invalid type is not JSON
	e, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain {
		if m := xmlDeclaration.FindSubmatch(body[:min(len(body), maxDeclaration)]); m != nil {
			// A declaration that can be read is not in UTF-16: .NET calls its UTF-8 so.
			if declared, known := charset.Lookup(string(m[1])); declared != nil && !strings.HasPrefix(known, "utf-16") {
				e, name = declared, known
			}
		}
	}
	guessed := !certain && name == Windows1252 // by the beginning alone
	if guessed {
		e, _ = charset.Lookup(otherwise)
	}
	if isUTF8 := (guessed || strings.HasSuffix(kind, "json")) && utf8.Valid(body); e != nil && !isUTF8 {
		if all, err := e.NewDecoder().Bytes(body); err == nil {
			body = all
		}
	}
	return strings.TrimPrefix(string(body), "\uFEFF")
}
