// Package all lists the wires.
package all

import (
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/agui"
	"github.com/chattray/chattray/api/wires/completions"
	"github.com/chattray/chattray/api/wires/responses"
	"github.com/chattray/chattray/api/wires/ui"
)

// Wires returns the wires that the service offers.
func Wires() []wires.Wire {
	return []wires.Wire{ui.Wire(), completions.Wire(), agui.Wire(), responses.Wire()}
}
