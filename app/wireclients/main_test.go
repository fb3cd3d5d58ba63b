//go:build wireclients

// Package wireclients runs the clients of other protocols, unmodified and at exact
// versions, against the program: `make wire-clients` installs them.
package wireclients

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/porttest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// start starts the program at an address that it has again after it was killed.
func start(t *testing.T, s *apptest.System) {
	t.Helper()
	s.Settings = append(s.Settings, "ADDR="+porttest.Address(t))
	s.Start()
}
