package apptest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/services/runs"
)

// ServeWith runs the service in this process until the test ends, with these settings and
// no others, and returns its URL.
func ServeWith(t *testing.T, environ []string, with app.Options) string {
	t.Helper()
	address, err := TryServe(t, environ, with)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// TryServe is ServeWith for a start that may fail.
func TryServe(t *testing.T, environ []string, with app.Options) (address string, err error) {
	t.Helper()
	c, _, err := settings.Load(nil, environ, "")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	log, _ := telemetry.NewLogger(io.Discard, c.LogLevel, c.LogFormat)
	watch, err := telemetry.New(ctx, telemetry.Options{Environ: environ})
	if err != nil {
		return "", err
	}
	s, err := app.Build(ctx, c, with, watch, log)
	if err != nil {
		return "", errors.Join(err, watch.Close(ctx))
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address = "http://" + listener.Addr().String()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Answer(ctx, c, listener, log) }()
	end := func() error { return errors.Join(<-stopped, s.Close(), watch.Close(context.Background())) }
	if resp, err := http.Get(address + "/healthz"); err != nil { // the service has closed its listener
		return "", end()
	} else if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := end(); err != nil {
			t.Errorf("the service stopped with %v, want no error", err)
		}
	})
	return address, nil
}

// ServeHere starts the service of the system in this process.
func (s *System) ServeHere(with app.Options) {
	s.T.Helper()
	if err := s.TryServeHere(with); err != nil {
		s.T.Fatal(err)
	}
}

// TryServeHere is ServeHere for a start that may fail.
func (s *System) TryServeHere(with app.Options) error {
	s.T.Helper()
	var environ []string
	for _, setting := range s.Settings {
		environ = append(environ, "CHATTRAY_"+setting)
	}
	address, err := TryServe(s.T, environ, with)
	if err == nil {
		s.setProcess(&Process{t: s.T, URL: address})
	}
	return err
}

// Serve starts the service with its defaults, except that the demo model does
// not wait between words. It knows the users ann and bob.
func Serve(t *testing.T) *Client {
	t.Helper()
	return ServeOn(t, Databases()[0], app.Options{Runs: func(o *runs.Options) {
		o.Agent = agents.New(agents.Metered(demo.New(0)), agents.Options{})
	}}, nil)
}

// ServeScripted is Serve with a scripted model server.
func ServeScripted(t *testing.T) (*Client, *upstream.Server) {
	t.Helper()
	up := upstream.NewMemory()
	return ServeOn(t, Databases()[0], app.Options{Models: up.Transport()}, Scripted(
		"CHATTRAY_MODELS=claude sonnet 3.7 thinking", "CHATTRAY_CORS_ORIGINS=https://app.example", "CHATTRAY_DRAIN=1s",
	)), up
}

// Scripted returns the settings of a service whose model server is an
// upstream.Server in memory, and more settings.
func Scripted(more ...string) []string {
	return append(more, "CHATTRAY_REQUESTS_PER_MINUTE=0", "CHATTRAY_OPENAI_BASE_URL=http://upstream.test/v1", "CHATTRAY_OPENAI_API_KEY=key")
}

// ServeOn starts the service on a database, with more settings. It knows the users
// ann and bob, and the admin ada.
func ServeOn(t *testing.T, d Database, with app.Options, more []string) *Client {
	t.Helper()
	environ := []string{"CHATTRAY_DATABASE_URL=" + d.Fresh(t), "CHATTRAY_LOG_FORMAT=json", "CHATTRAY_JWT_SECRET=secret-of-32-bytes-for-this-test"}
	for _, setting := range patient {
		environ = append(environ, "CHATTRAY_"+setting)
	}
	environ = append(environ, more...)
	c := &Client{T: t, URL: ServeWith(t, environ, with), Tokens: map[string]string{}}
	for user, more := range map[string][]string{"ann": nil, "bob": nil, "ada": {"--role", "admin"}} {
		token, err := Command(t, environ, append([]string{"token", "--user", user}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		c.Tokens[user] = strings.TrimSpace(token)
	}
	return c
}
