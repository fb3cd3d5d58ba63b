package web_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/chattray/chattray/web"
)

func get(t *testing.T, h http.Handler, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func read(t *testing.T, r io.Reader) string {
	t.Helper()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The page and everything that it names is there, and nothing in it is inline:
// the policy of the page would not allow it.
func TestPageIsWhole(t *testing.T) {
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	page := get(t, h, "/")
	body := read(t, page.Body)
	if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || page.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("/ is %d %v", page.StatusCode, page.Header)
	}
	names := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(names) < 3 {
		t.Fatalf("the page names %v", names)
	}
	for _, n := range names {
		got := get(t, h, n[1])
		if got.StatusCode != http.StatusOK || len(read(t, got.Body)) == 0 {
			t.Errorf("%s is %d", n[1], got.StatusCode)
		}
	}
	if regexp.MustCompile(`<script(?:[^>]*[^/a-z"])?>[^<]|<style|\son[a-z]+=`).MatchString(body) {
		t.Error("the page has an inline script or style, want none")
	}
}

// Each built file has its type, whatever the tables of the host say.
func TestKinds(t *testing.T) {
	want := map[string]string{
		".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	for ext := range want {
		before := mime.TypeByExtension(ext)
		t.Cleanup(func() { _ = mime.AddExtensionType(ext, before) })
		if err := mime.AddExtensionType(ext, "text/plain"); err != nil {
			t.Fatal(err)
		}
	}
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS("dist"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if got := get(t, h, "/"+name).Header.Get("Content-Type"); got == "" || got != want[path.Ext(name)] {
			t.Errorf("%s has the type %q, want %q", name, got, want[path.Ext(name)])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, get(t, h, "/").Body)
	script := regexp.MustCompile(`/assets/index-[^"]+\.js`).FindString(page)
	plain := get(t, h, script)
	want := read(t, plain.Body)
	if !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("the script's Cache-Control is %q", plain.Header.Get("Cache-Control"))
	}
	packed := get(t, h, script, "Accept-Encoding", "gzip, br")
	if packed.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("the script comes as %v", packed.Header)
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, z) != want {
		t.Error("the compressed body differs from the plain one, want the same")
	}
	if again := get(t, h, script, "If-None-Match", plain.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("a known file is %d, want 304", again.StatusCode)
	}
	for _, path := range []string{"/assets/nothing.js", "/../web.go", "/dist/index.html", "/package.json"} {
		if got := get(t, h, path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s is %d, want 404", path, got.StatusCode)
		}
	}
}

// TestHeadersOfFiles has headers that other programs than browsers send.
func TestHeadersOfFiles(t *testing.T) {
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, get(t, h, "/").Body)
	script := regexp.MustCompile(`/assets/index-[^"]+\.js`).FindString(page)
	for accepted, want := range map[string]string{
		"gzip": "gzip", "br, GZIP;q=0.5": "gzip", "gzip; q=1.0": "gzip", "gzip;q=0": "", "gzip; q=0.000, br": "", "gzip;q=x": "", "x-gzip-not": "", "": "",
	} {
		if got := get(t, h, script, "Accept-Encoding", accepted); got.Header.Get("Content-Encoding") != want {
			t.Errorf("a client that accepts %q gets %q, want %q", accepted, got.Header.Get("Content-Encoding"), want)
		}
	}
	for _, bytes := range []string{"bytes=999999999-", "bytes=0-1", "lines=1"} {
		if got := get(t, h, "/", "Range", bytes); got.StatusCode != http.StatusOK || read(t, got.Body) != page {
			t.Errorf("the range %s gives %d, want the whole page", bytes, got.StatusCode)
		}
	}
	w := httptest.NewRecorder()
	w.Header().Set("Vary", "Origin")
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if got := strings.Join(w.Header().Values("Vary"), ","); got != "Origin,Accept-Encoding" {
		t.Errorf("Vary is %q, want Origin,Accept-Encoding", got)
	}
}
