//go:build wireclients

// Package wireclients runs the clients of other protocols, unmodified and at exact
// versions, against the program: `make wire-clients` installs them.
package wireclients

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
