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
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed dist
var dist embed.FS

// worthwhile is the size in bytes from which a file is compressed.
const worthwhile = 1 << 10

// file is an embedded file as it is sent.
type file struct {
	plain  []byte
	packed func() []byte // compressed when first asked for; nil when that gains nothing
	kind   string
	etag   string
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
		content, err := dist.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		files[strings.TrimPrefix(name, "dist")] = newFile(name, content)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The page finds its way by its address; it is the same file everywhere.
	files["/"], files["/playground"] = files["/index.html"], files["/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := files[path.Clean("/"+r.URL.Path)]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		f.serve(w, r)
	}), nil
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{plain: content, kind: mime.TypeByExtension(path.Ext(name)), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, cache: "no-cache"}
	if strings.Contains(name, "-") && strings.HasPrefix(name, "dist/assets/") {
		f.cache = "public, max-age=31536000, immutable"
	}
	f.packed = sync.OnceValue(func() []byte { return pack(content) })
	return f
}

// pack compresses content; nil is not worth it.
func pack(content []byte) []byte {
	if len(content) < worthwhile {
		return nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil || z.Close() != nil || b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if f.kind != "" {
		h.Set("Content-Type", f.kind)
	}
	h.Set("Cache-Control", f.cache)
	h.Set("Vary", "Accept-Encoding")
	content, etag := f.plain, f.etag
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Header.Get("Range") == "" {
		if packed := f.packed(); packed != nil {
			content, etag = packed, strings.TrimSuffix(f.etag, `"`)+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
