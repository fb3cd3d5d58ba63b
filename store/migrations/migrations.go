// Package migrations holds the steps that make the database's tables, one
// folder for each database. A step that was released is never changed.
package migrations

import "embed"

// Files holds the folders sqlite and postgres.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
