// Package resume has clients that disconnect and reconnect: each gets the
// events after its cursor, in order and once.
package resume

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
