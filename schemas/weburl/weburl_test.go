package weburl_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/weburl"
)

func TestKey(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/x", "https://a.example/x", true},
		{"http://a.example/x", "https://a.example/x", true},
		{"a.example/x", "https://a.example/x", true},
		{"//a.example/x", "https://a.example/x", true},
		{"HTTPS://A.Example/x", "https://a.example/x", true},
		{"https://a.example:443", "https://a.example/", true},
		{"https://a.example/x#part", "https://a.example/x", true},
		{" https://a.example/ü ", "https://a.example/%C3%BC", true},
		{"https://a.example/x?d=1", "https://a.example/x", false},
		{"https://a.example/x?d=1", "https://a.example/x?d=2", false},
		{"https://a.example/x/", "https://a.example/x", false},
		{"https://a.example/X", "https://a.example/x", false},
		{"https://secret.a.example/x", "https://a.example/x", false},
		{"https://secret@a.example/x", "https://a.example/x", false},
		{"https://a.example:8443/x", "https://a.example/x", false},
		{"ftp://a.example/x", "https://a.example/x", false},
		{"https://a.example/%2e", "https://a.example/.", false},
	} {
		if same := weburl.Key(tt.a) == weburl.Key(tt.b); same != tt.same {
			t.Errorf("%q and %q are the same: %t, keys %q and %q", tt.a, tt.b, same, weburl.Key(tt.a), weburl.Key(tt.b))
		}
	}
}

func TestGiven(t *testing.T) {
	const url = "https://a.example/x_y?q=1&r=2"
	for _, text := range []string{
		url, "See " + url + ".", "(" + url + ")", "(see " + url + ").", "<" + url + ">", "`" + url + "`", "**" + url + "**", "_" + url + "_", `"` + url + `"`, "'" + url + "',",
		"[name](" + url + ")", "[" + url + "](" + url + ")", "[a](" + url + ")[b](https://b.example)", "<a href='" + strings.ReplaceAll(url, "&", "&amp;") + "'>x</a>",
		`<a href="` + strings.ReplaceAll(url, "&", "&#38;") + `">x</a>`, `{"url":"https:\/\/a.example\/x_y?q=1\u0026r=2"}`, `https://a.example/x\_y?q=1&r=2`,
		"a.example/x_y?q=1&r=2, or not?", "(a.example/x_y?q=1&r=2)", "| " + url + "|", "看 " + url + "。", "看（" + url + "）。", "URL:" + url, "ist：" + url, "a," + url + ",b", "http://a.example/x_y?q=1&r=2#top", "HTTPS://A.EXAMPLE/x_y?q=1&r=2",
		url + "\n" + url, "\u201c" + url + "\u201d", url + "…", url + "?!", "['" + url + "','https://b.example']",
	} {
		if !slices.Contains(slices.Collect(weburl.Given(text)), weburl.Key(url)) {
			t.Errorf("%q does not give %s, but %q", text, url, slices.Collect(weburl.Given(text)))
		}
	}
	for _, text := range []string{
		"", "no address", "https://", "a.b", "3.14 and 1.2.3", "https://a.example/", "https://a.example/x_y?q=1", "https://a.example/x_y?q=1&r=3", strings.Repeat("x", 5000) + url,
		"https://a.example/x _y?q=1&r=2",
	} {
		if slices.Contains(slices.Collect(weburl.Given(text)), weburl.Key(url)) {
			t.Errorf("%.80q gives %s", text, url)
		}
	}
}

// What a program may read as an address is whole: nothing can hide at its end.
func TestSent(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"https://a.example/x", []string{"a.example/x"}},
		{" https://a.example/x{SECRET} ", []string{"a.example/x%7BSECRET%7D"}},
		{"https://a.example/x SECRET", []string{"a.example/x%20SECRET"}},
		{"//a.example/x", []string{"a.example/x"}},
		{"a.example/x?d=SECRET", []string{"a.example/x?d=SECRET"}},
		{"SECRET.a.example", []string{"secret.a.example/"}},
		{"1.2.3.4/SECRET", []string{"1.2.3.4/SECRET"}},
		{"a。example/SECRET", []string{"a。example/SECRET"}},
		{"see https://a.example/x.", []string{"a.example/x"}},
		{"see (https://a.example/x).", []string{"a.example/x"}},
		{"see https://a.example/x_(y), and b.example", []string{"a.example/x_(y)", "b.example/"}},
		{"ftp://a.example/SECRET", []string{"ftp://a.example/SECRET"}},
		{"cats vs. dogs, 3.14", nil},
		{"", nil},
	} {
		if got := weburl.Sent(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q sends %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzGiven(f *testing.F) {
	f.Add("see [a](https://a.example/x)[b](b.example).")
	f.Add("://（://)")
	f.Fuzz(func(_ *testing.T, text string) {
		for range weburl.Given(text) {
		}
		weburl.Sent(text)
	})
}

func BenchmarkGiven(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"page", strings.Repeat("Text with a [link](https://a.example/x_y?q=1) and some. Words, (more) words; 3.14 e.g. ", 200)},
		{"hostile", strings.Repeat(strings.Repeat("(a.bc/", 300)+strings.Repeat("x", 200)+" ", 8)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			for b.Loop() {
				for range weburl.Given(bb.text) {
				}
			}
		})
	}
}

// A name of a member is sent as well as a value, at any depth.
func TestSentInJSON(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"url":"https://a.example/x"}`:               {"a.example/x"},
		`{"https://a.example/SECRET":1}`:              {"a.example/SECRET"},
		`{"a":[{"b":["b.example/1"]},"b.example/2"]}`: {"b.example/1", "b.example/2"},
		`{"a":7}`: nil,
		`{`:       nil,
	} {
		if got := weburl.SentIn(json.RawMessage(raw)); !slices.Equal(got, want) {
			t.Errorf("%s sends %q, want %q", raw, got, want)
		}
	}
}
