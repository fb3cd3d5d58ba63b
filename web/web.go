// Package web owns the page at /: files that are built, committed in dist and
// embedded, so that the service needs no Node to show them. What they are built
// from is beside it; README.md tells.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed dist
var dist embed.FS

// kinds are the types of the built files. The tables of the host, which the package mime reads
// whole, may have others, and with another type a browser refuses a script or a style.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// worthwhile is the size in bytes from which a file is compressed.
const worthwhile = 1 << 10

// file is an embedded file as it is sent. It is sent from the program's own memory, and
// is first read when it is asked for.
type file struct {
	name   string
	packed func() []byte // compressed; nil when that gains nothing
	etag   func() string
	kind   string
	cache  string
}

// Handler serves the page and its files. Built files may be cached forever, because
// their names change with their content; the page itself is always asked for. Paths that
// have no file are 404. It is safe for concurrent use.
func Handler() (http.Handler, error) {
	files := make(map[string]*file)
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[strings.TrimPrefix(name, "dist")] = newFile(name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The page finds its way by its address; it is the same file everywhere.
	for _, path := range []string{"/", "/playground", "/admin"} {
		files[path] = files["/index.html"]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := files[path.Clean("/"+r.URL.Path)]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		f.serve(w, r)
	}), nil
}

func newFile(name string) *file {
	f := &file{name: name, kind: kinds[path.Ext(name)], cache: "no-cache"}
	if strings.Contains(name, "-") && strings.HasPrefix(name, "dist/assets/") {
		f.cache = "public, max-age=31536000, immutable"
	}
	f.packed = sync.OnceValue(f.pack)
	f.etag = sync.OnceValue(f.sum)
	return f
}

// open opens the file, which is embedded: it can be read at any position, and there is
// nothing to close.
func (f *file) open() io.ReadSeeker {
	content, err := dist.Open(f.name)
	if err != nil {
		panic(err) // the walk has found it
	}
	return content.(io.ReadSeeker)
}

// sum returns the etag.
func (f *file) sum() string {
	sum := sha256.New()
	_, _ = io.Copy(sum, f.open())
	return `"` + hex.EncodeToString(sum.Sum(nil)[:8]) + `"`
}

// pack compresses the content; nil is not worth it.
func (f *file) pack() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	n, err := io.Copy(z, f.open())
	if err != nil || z.Close() != nil || n < worthwhile || b.Len() >= int(n) {
		return nil
	}
	return bytes.Clone(b.Bytes())
}

// serve sends the file whole: a Range, which a server may ignore, is no reason to refuse.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", f.cache)
	h.Add("Vary", "Accept-Encoding")
	content, etag := f.open(), f.etag()
	if takesGzip(r.Header) {
		if packed := f.packed(); packed != nil {
			content, etag = bytes.NewReader(packed), strings.TrimSuffix(etag, `"`)+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", etag)
	if r.Header.Get("Range") != "" {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}

// takesGzip reports whether a client accepts a body that is compressed with gzip.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, weighted := strings.Cut(strings.ReplaceAll(strings.ToLower(part), " ", ""), ";q=")
		if coding != "gzip" {
			continue
		}
		q, err := strconv.ParseFloat(weight, 64)
		return !weighted || err == nil && q > 0
	}
	return false
}
