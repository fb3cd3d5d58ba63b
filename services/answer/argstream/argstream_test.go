package argstream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chattray/chattray/services/answer/argstream"
)

const manyEscapes = `{"block_id":"b\u0031","meta":{"a":["x,}\"]",{"b":1}]},"n":-1.5e3,"t":true,"after_block_id":null,` +
	`"content":"# G\u00f6ld \ud83d\ude00\n\"quoted\" \\ \/ \t ünï\u0063 日本 \ud83d x \udE00 end"}`

// read feeds pieces of a call's arguments.
func read(pieces ...string) (content string, head map[string]json.RawMessage, ended bool) {
	a := argstream.Reader{Argument: "content"}
	for _, piece := range pieces {
		part, _, _ := a.Feed(piece)
		content += part
	}
	return content, a.Head, a.Ended
}

// contentOf is the content as encoding/json reads it.
func contentOf(t *testing.T, text string) string {
	t.Helper()
	var v struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v.Content
}

func TestArgumentsCutAtEveryByte(t *testing.T) {
	want := contentOf(t, manyEscapes)
	for i := range len(manyEscapes) + 1 {
		got, head, ended := read(manyEscapes[:i], manyEscapes[i:])
		if got != want || !ended {
			t.Fatalf("cut at %d: got %q (ended: %v), want %q", i, got, ended, want)
		}
		for key, value := range map[string]string{"block_id": `"b\u0031"`, "meta": `{"a":["x,}\"]",{"b":1}]}`, "n": "-1.5e3", "t": "true", "after_block_id": "null"} {
			if string(head[key]) != value {
				t.Errorf("cut at %d: %s is %s, want %s", i, key, head[key], value)
			}
		}
	}
	if got, _, _ := read(strings.Split(manyEscapes, "")...); got != want {
		t.Errorf("in single characters: got %q, want %q", got, want)
	}
}

func TestArgumentsComeAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		`{"content":"abc`:               "abc",
		`{"content":"abc\`:              "abc",
		`{"content":"abc\ud83d`:         "abc",
		`{"content":7}`:                 "",
		`["content","x"]`:               "",
		`{"content":"a\x41"}`:           "a",
		`{"a":{"content":"x"}}`:         "",
		`{"content":"x","b":"y"}`:       "x",
		`{"content":"x","content":"y"}`: "x",
		"":                              "",
		`null`:                          "",
	} {
		if got, _, _ := read(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(manyEscapes, 17)
	f.Add(`{"content":"x"`, 3)
	f.Add("{\"content\":\"\xf0\x9f\xff\"}", 13)
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole, _, _ := read(text)
		if at = max(0, min(at, len(text))); true {
			if cut, _, _ := read(text[:at], text[at:]); cut != whole {
				t.Fatalf("%q cut at %d gives %q, whole %q", text, at, cut, whole)
			}
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q gives %q", text, whole)
		}
		var v map[string]json.RawMessage
		if strings.Count(text, `"content"`) != 1 || strings.Contains(text, `\u00`) || json.Unmarshal([]byte(text), &v) != nil || len(v["content"]) == 0 || v["content"][0] != '"' {
			return
		}
		if want := contentOf(t, text); whole != want {
			t.Fatalf("%q gives %q, want %q", text, whole, want)
		}
	})
}

// The bytes before and after the content are the rest of the object, wherever
// the pieces are cut.
func TestArgumentsWithoutTheirContent(t *testing.T) {
	const text = `{"block_id":"b","content":"a \"b\" ü","after":{"content":"c"}}`
	const want = `{"block_id":"b","content":"","after":{"content":"c"}}`
	for i := range len(text) + 1 {
		a := argstream.Reader{Argument: "content"}
		content, rest := "", ""
		for _, piece := range []string{text[:i], text[i:]} {
			part, from, to := a.Feed(piece)
			content += part
			rest += piece[:from] + piece[to:]
		}
		if rest != want || content != `a "b" ü` {
			t.Errorf("cut at %d: the content is %q and the rest %s, want %s", i, content, rest, want)
		}
	}
	for _, text := range []string{`{"content":7}`, `{"title":"x"}`, `no JSON`} {
		a := argstream.Reader{Argument: "content"}
		if content, from, to := a.Feed(text); content != "" || text[:from]+text[to:] != text {
			t.Errorf("%s: the content is %q, at %d to %d", text, content, from, to)
		}
	}
}
