// Package endtoend tests the whole service: documents, usage, tools of MCP
// servers, threads, and proxies in front of it.
package endtoend

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
