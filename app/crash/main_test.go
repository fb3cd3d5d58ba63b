// Package crash kills and stops the real program, in a process of its own, in
// every phase, and checks that all promises hold after the next start.
package crash

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
