package mcp

import (
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools"
)

// hints are the annotations of a tool that differ from the protocol's
// defaults. The zero value describes a tool that may destroy something, must
// not be repeated and reaches the outside.
type hints struct {
	// ReadOnly is readOnlyHint, Additive destructiveHint: false, Idempotent
	// idempotentHint, ClosedWorld openWorldHint: false.
	ReadOnly    bool `json:"read_only,omitempty"`
	Additive    bool `json:"additive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	ClosedWorld bool `json:"closed_world,omitempty"`
}

// hintsOf returns the hints of a tool.
func hintsOf(a *sdk.ToolAnnotations) hints {
	if a == nil {
		return hints{}
	}
	return hints{
		ReadOnly:    a.ReadOnlyHint,
		Additive:    a.DestructiveHint != nil && !*a.DestructiveHint,
		Idempotent:  a.IdempotentHint,
		ClosedWorld: a.OpenWorldHint != nil && !*a.OpenWorldHint,
	}
}

// counting returns the hints that the service follows: none from a server that
// the operator does not trust.
func (s Server) counting(h hints) hints {
	if !s.TrustHints {
		return hints{}
	}
	return h
}

// Asks reports whether each call of the tool (the server's name) waits for the
// user's approval, and why. The operator's settings take precedence over hints.
func (s Server) Asks(tool string, d Definition) (asks bool, why string) {
	h := s.counting(d.hints)
	switch {
	case slices.Contains(s.Confirm, tools.GroupAll):
		return true, "confirm: true"
	case slices.Contains(s.Confirm, tool):
		return true, "confirm names it"
	case s.Confirm != nil && len(s.Confirm) == 0:
		return false, "confirm: false"
	case s.Confirm != nil:
		return false, "confirm does not name it"
	case h.ReadOnly:
		return false, "read-only, says its server"
	case h.Additive:
		return false, "not destructive, says its server"
	case s.TrustHints:
		return true, "its server does not say that it is harmless"
	case d.ReadOnly || d.Additive:
		return true, "the hints of its server are not trusted"
	default:
		return true, "nobody says that it is harmless"
	}
}
