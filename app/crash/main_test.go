// Package crash kills and stops the real program, in a process of its own, in
// the middle of everything: what was promised before holds after the next start.
package crash

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
