// Package mcp is the client side of the Model Context Protocol: Clients makes a group of the
// registry from each configured server's tools. The other side is tools/mcp/server.
//
// It owns when a server is connected, which of its tools are trusted, and the limits on a
// foreign tool's name, description and schema. Connections are in tools/mcp/transport,
// results in tools/mcp/result. Settings and registry decide which page offers which tool.
// No token, id or other data about a user is sent to a server.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// Limits for each server.
const (
	// maxTools bounds the tools that are used, in the order of their names.
	maxTools = 100
	// maxDescription is the longest description that a model gets, in
	// characters, maxSchema the largest input schema, in bytes.
	maxDescription = 1_000
	maxSchema      = 32 << 10
)

// The defaults of Options.
const (
	defaultRefresh    = 30 * time.Second
	defaultConnect    = 30 * time.Second
	defaultFirstDelay = time.Second
	defaultLastDelay  = time.Minute
)

// Server is a server to connect to: a Command to run or a URL to call.
type Server struct {
	// Name is the prefix of the names of its tools; see tools.CheckGroup.
	Name string
	// Command is run with Args. Env is its whole environment, as NAME=value.
	Command   string
	Args, Env []string
	// URL is an endpoint of streamable HTTP. Headers are sent with every
	// request to it, and nowhere else.
	URL     string
	Headers map[string]string
	// Global offers its tools on every page.
	Global bool
	// Confirm lists the tools, by the server's names, whose calls wait for the
	// user's approval; tools.GroupAll means all. An empty list means none. Nil
	// means all except those that a trusted hint calls read-only or not
	// destructive.
	Confirm []string
	// TrustHints makes the service trust the hints of the server's tools: that
	// they only read, destroy nothing, may be repeated after a crash, or reach
	// nothing outside.
	TrustHints bool
	// Timeout bounds one call; 0 is the loop's default.
	Timeout time.Duration
}

// Options are the settings of Clients. Registry and Pins are required.
type Options struct {
	Servers  []Server
	Registry registry
	Pins     pins
	// Version is this program's version, which is sent to servers.
	Version string
	// Refresh is how often the list of tools is requested, which also shows
	// that the server works. Connect bounds the start of a connection, and each
	// list; the calls before it may take longer. FirstDelay and LastDelay are the shortest and the longest time
	// between two attempts to connect, and between two lists that the server
	// asks for. 0 is the default.
	Refresh, Connect, FirstDelay, LastDelay time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// registry stores the tools of a group. tools.Registry implements it.
type registry interface {
	Replace(group string, tools []turn.Tool) error
}

// pins stores definitions; see store.SeeMCPTools.
type pins interface {
	SeeMCPTools(ctx context.Context, server string, seen []record.MCPTool) ([]record.MCPTool, error)
}

// Clients keeps the connections to all configured servers. The registry has the
// tools of each server's last list. A call to a server that cannot be reached
// is an error that the model reads.
type Clients struct{ clients []*client }

// New checks the servers. The registry must have a group for each. New does not connect.
func New(o Options) (*Clients, error) {
	o.Refresh, o.Connect = cmp.Or(o.Refresh, defaultRefresh), cmp.Or(o.Connect, defaultConnect)
	o.FirstDelay, o.LastDelay = cmp.Or(o.FirstDelay, defaultFirstDelay), cmp.Or(o.LastDelay, defaultLastDelay)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Clients{}
	var wrong []error
	for _, s := range o.Servers {
		one := &client{
			Server: s, opts: o, log: o.Logger.With("mcp_server", s.Name), bell: make(chan struct{}, 1), tried: make(chan struct{}), listed: make(chan struct{}),
			offered: map[string]Definition{}, reported: map[string]string{}, secrets: secretsOf(&s),
		}
		err := errors.Join(tools.CheckGroup(s.Name), o.Registry.Replace(s.Name, nil))
		if _, invalid := url.Parse(s.URL); (s.Command == "") == (s.URL == "") || invalid != nil {
			err = errors.Join(err, errors.New("it needs a command or a URL"))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("MCP server %q: %w", s.Name, err))
		}
		c.clients = append(c.clients, one)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

// Run connects to all servers and keeps the connections until ctx ends. When it
// returns, every connection is closed and every process has ended. Call it
// once.
func (c *Clients) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, one := range c.clients {
		all.Go(func() { one.run(ctx) })
	}
	all.Wait()
}

// Ready waits until each server has been tried once, or ctx ends.
func (c *Clients) Ready(ctx context.Context) {
	for _, one := range c.clients {
		select {
		case <-one.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Missing returns a channel that is closed when the server of the tool has been connected for
// the first time; nil if it has been, or the tool is of no server.
func (c *Clients) Missing(tool string) <-chan struct{} {
	for _, one := range c.clients {
		if strings.HasPrefix(tool, one.Name+tools.GroupSeparator) {
			select {
			case <-one.listed:
				return nil
			default:
				return one.listed
			}
		}
	}
	return nil
}
