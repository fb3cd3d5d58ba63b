// Package web owns the page at /: files that are built, committed in dist and
// embedded, so that the service needs no Node to show them.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed dist
var dist embed.FS

// Handler serves the page and its files. It is safe for concurrent use.
func Handler() (http.Handler, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, err
	}
	return http.FileServerFS(files), nil
}
