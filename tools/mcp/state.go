package mcp

import "github.com/chattray/chattray/schemas"

// State returns the servers in the order of the settings, with the tools that each one
// offers now or offered last. Tools that are left out are not among them.
func (c *Clients) State() []schemas.AdminMCPServer {
	list := make([]schemas.AdminMCPServer, len(c.clients))
	for i, one := range c.clients {
		one.mu.Lock()
		list[i] = schemas.AdminMCPServer{
			Name: one.Name, Connected: one.link != nil, Tools: append([]string{}, one.used...), Error: one.failed,
		}
		one.mu.Unlock()
	}
	return list
}
