package app

import "fmt"

// How many of the process's descriptors are for clients. The others are for the
// database, model servers, tools and MCP servers.
const (
	mostDescriptors  = 1 << 20
	knownDescriptors = 16 << 10 // used if the system's limit is unknown
	// At least and at most this many are neither for clients nor for model servers.
	fewestSpare, mostSpare = 64, 512
)

// connectionLimit returns how many connections of clients may be open: the
// configured number, or for 0 half of the descriptors that are not spare, because a
// stream to a client has a connection to a model as well. A number that the
// descriptors do not allow is an error.
func connectionLimit(configured, descriptors int) (int, error) {
	most := descriptors - min(max(descriptors/16, fewestSpare), mostSpare)
	switch {
	case most < 1:
		return 0, fmt.Errorf("the process may open only %d files and connections; raise the limit (ulimit -n)", descriptors)
	case configured > most:
		return 0, fmt.Errorf("limits.connections: %d do not fit into the %d files and connections that the process may open; "+
			"raise that limit (ulimit -n) or set at most %d", configured, descriptors, most)
	case configured > 0:
		return configured, nil
	default:
		return max(most/2, 1), nil
	}
}
