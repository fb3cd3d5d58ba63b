package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

func TestCutStrings(t *testing.T) {
	long := strings.Repeat("ä", schemas.MaxToolText+1)
	note := `\n[the first 16000 of 16001 characters]`
	cut := strings.Repeat("ä", schemas.MaxToolText) + note
	for name, tt := range map[string]struct{ raw, want string }{
		"short":                      {`{"a": "b"}`, `{"a": "b"}`},
		"a string":                   {`"` + long + `"`, `"` + cut + `"`},
		"among others":               {`{"b": 1.50, "a":["x\"", "` + long + `"], "c":{"d":"` + long + `"} }`, `{"b": 1.50, "a":["x\"", "` + cut + `"], "c":{"d":"` + cut + `"} }`},
		"just not too long":          {`["` + long[2:] + `","\\"]`, `["` + long[2:] + `","\\"]`},
		"many escapes of few":        {`"` + strings.Repeat(`\u00e4`, schemas.MaxToolText) + `"`, `"` + strings.Repeat(`\u00e4`, schemas.MaxToolText) + `"`},
		"escapes":                    {`"` + strings.Repeat(`\"`, schemas.MaxToolText+1) + `"`, `"` + strings.Repeat(`\"`, schemas.MaxToolText) + note + `"`},
		"long without a long string": {"[" + strings.Repeat("1,", schemas.MaxToolText) + "1]", "[" + strings.Repeat("1,", schemas.MaxToolText) + "1]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(schemas.CutStrings(json.RawMessage(tt.raw)))
			if got != tt.want {
				t.Errorf("got %d bytes, want %d: %.80s … %s", len(got), len(tt.want), got, got[max(0, len(got)-80):])
			}
			if !json.Valid([]byte(got)) {
				t.Error("the result is not JSON, want JSON")
			}
		})
	}
	for _, broken := range []string{`"` + long, `{"a":"` + long + `\`} {
		if got := schemas.CutStrings(json.RawMessage(broken)); string(got) != broken {
			t.Errorf("what is no JSON became %.80s", got)
		}
	}
}
