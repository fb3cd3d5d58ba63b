package mcp

import (
	"maps"
	"slices"

	"github.com/chattray/chattray/schemas"
)

// State returns the servers in the order of the settings, with the tools that each one
// offers now or offered last.
func (c *Clients) State() []schemas.AdminMCPServer {
	list := make([]schemas.AdminMCPServer, len(c.clients))
	for i, one := range c.clients {
		one.mu.Lock()
		list[i] = schemas.AdminMCPServer{
			Name: one.Name, Connected: one.link != nil, Tools: append([]string{}, slices.Sorted(maps.Keys(one.offered))...), Error: one.failed,
		}
		one.mu.Unlock()
	}
	return list
}
