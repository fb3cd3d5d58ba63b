// Package all is the list of wires.
package all

import (
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/ui"
)

// Wires returns the wires that the service speaks.
func Wires() []wires.Wire { return []wires.Wire{ui.Wire()} }
