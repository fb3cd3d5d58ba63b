package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools/outbound"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// target counts the connections made to it, on every address of this machine.
type target struct {
	port  string
	count atomic.Int64
}

func listen(t *testing.T) *target {
	t.Helper()
	ln, err := net.Listen("tcp", ":0") // every spelling of loopback reaches it
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	tg := &target{port: port}
	srv := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				tg.count.Add(1)
			}
		},
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return tg
}

func get(t *testing.T, c *http.Client, rawURL string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("%w: no URL: %w", outbound.ErrRefused, err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// forbidden are hosts with private addresses, in every form that a URL may
// have.
var forbidden = []struct{ name, host string }{
	{"loopback", "127.0.0.1"},
	{"loopback elsewhere", "127.8.9.10"},
	{"loopback short", "127.1"},
	{"loopback hex", "0x7f000001"},
	{"loopback hex part", "127.0.0.0x1"},
	{"loopback decimal", "2130706433"},
	{"loopback octal", "017700000001"},
	{"loopback octal parts", "0177.0.0.1"},
	{"loopback with dot", "127.0.0.1."},
	{"loopback v6", "[::1]"},
	{"loopback v6 long", "[0:0:0:0:0:0:0:1]"},
	{"loopback mapped", "[::ffff:127.0.0.1]"},
	{"loopback mapped hex", "[::ffff:7f00:1]"},
	{"loopback compatible", "[::127.0.0.1]"},
	{"localhost", "localhost"},
	{"localhost upper", "LOCALHOST"},
	{"unspecified", "0.0.0.0"},
	{"unspecified short", "0"},
	{"unspecified v6", "[::]"},
	{"this network", "0.1.2.3"},
	{"private 10", "10.0.0.1"},
	{"private 172", "172.16.0.1"},
	{"private 192", "192.168.1.1"},
	{"private mapped", "[::ffff:10.0.0.1]"},
	{"unique local", "[fd00::1]"},
	{"link-local", "169.254.1.1"},
	{"link-local v6", "[fe80::1]"},
	{"link-local v6 zone", "[fe80::1%25lo]"},
	{"site-local", "[fec0::1]"},
	{"metadata", "169.254.169.254"},
	{"metadata decimal", "2852039166"},
	{"metadata mapped", "[::ffff:169.254.169.254]"},
	{"metadata v6", "[fd00:ec2::254]"},
	{"metadata host agent", "168.63.129.16"},
	{"metadata host agent mapped", "[::ffff:168.63.129.16]"},
	{"metadata shared", "100.100.100.200"},
	{"NAT64 loopback", "[64:ff9b::127.0.0.1]"},
	{"NAT64 metadata", "[64:ff9b::a9fe:a9fe]"},
	{"NAT64 local", "[64:ff9b:1::127.0.0.1]"},
	{"6to4 loopback", "[2002:7f00:1::1]"},
	{"6to4 private", "[2002:a00:1::]"},
	{"Teredo", "[2001:0:7f00:1::1]"},
	{"ISATAP", "[2a00:1450::5efe:10.0.0.1]"},
	{"ISATAP unique", "[2a00:1450::200:5efe:7f00:1]"},
	{"carrier", "100.64.0.1"},
	{"carrier end", "100.127.255.254"},
	{"multicast", "224.0.0.1"},
	{"multicast v6", "[ff02::1]"},
	{"broadcast", "255.255.255.255"},
	{"reserved", "240.0.0.1"},
	{"documentation", "192.0.2.1"},
	{"documentation v6", "[2001:db8::1]"},
	{"benchmark", "198.18.0.1"},
	{"discard", "[100::1]"},
	{"returned", "[3ffe::1]"},
}

func TestRefusesPrivateAddresses(t *testing.T) {
	tg := listen(t)
	client := outbound.New(outbound.Config{})
	for _, tc := range forbidden {
		for _, port := range []string{"", ":80", ":443", ":" + tg.port} {
			t.Run(tc.name+port, func(t *testing.T) {
				body, err := get(t, client, "http://"+tc.host+port+"/")
				if !errors.Is(err, outbound.ErrRefused) {
					t.Errorf("got %q, %v, want ErrRefused", body, err)
				}
			})
		}
	}
	if n := tg.count.Load(); n != 0 {
		t.Errorf("the target saw %d connections, want none", n)
	}
}

// The same addresses under names, so that only the dialer can see them.
func TestRefusesNamesOfPrivateAddresses(t *testing.T) {
	tg := listen(t)
	names := map[string][]netip.Addr{}
	for i, tc := range forbidden {
		if ip, err := netip.ParseAddr(strings.Trim(tc.host, "[]")); err == nil {
			names[fmt.Sprintf("n%d.example", i)] = []netip.Addr{ip}
		}
	}
	names["both.example"] = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1")}
	client := outbound.New(outbound.Config{Resolver: resolver(names)})
	for name, ips := range names {
		for _, port := range []string{"", ":" + tg.port} {
			t.Run(fmt.Sprint(ips, port), func(t *testing.T) {
				_, err := get(t, client, "http://"+name+port+"/")
				if !errors.Is(err, outbound.ErrRefused) {
					t.Errorf("got %v, want ErrRefused", err)
				}
			})
		}
	}
	if n := tg.count.Load(); n != 0 {
		t.Errorf("the target saw %d connections, want none", n)
	}
}

func TestRefusesURLs(t *testing.T) {
	client := outbound.New(outbound.Config{Allow: loopback})
	for _, raw := range []string{
		"ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:70/", "http://", "http:///path",
		"http://user@127.0.0.1/", "http://user:pass@127.0.0.1/", "unix:///run/x.sock", "//127.0.0.1/",
	} {
		t.Run(raw, func(t *testing.T) {
			if _, err := get(t, client, raw); !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("got %v, want ErrRefused", err)
			}
		})
	}
}

// door redirects to wherever the query says.
func door(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestRefusesRedirects(t *testing.T) {
	tg, entry := listen(t), door(t)
	client := outbound.New(outbound.Config{Base: parse(t, entry.URL)})
	targets := []string{"file:///etc/passwd", "ftp://example.com/", "http://user:pass@93.184.215.14/"}
	for _, tc := range forbidden {
		targets = append(targets, "http://"+tc.host+"/", "http://"+tc.host+":"+tg.port+"/")
	}
	for _, to := range targets {
		t.Run(to, func(t *testing.T) {
			_, err := get(t, client, entry.URL+"/?to="+url.QueryEscape(to))
			if err == nil {
				t.Fatal("got no error, want the redirect refused")
			}
			// net/http itself stops at a Location that is no URL.
			if !errors.Is(err, outbound.ErrRefused) && !strings.Contains(err.Error(), "Location") {
				t.Errorf("got %v, want ErrRefused", err)
			}
		})
	}
	if n := tg.count.Load(); n != 0 {
		t.Errorf("the target saw %d connections, want none", n)
	}
}

func TestQueriesAreEscaped(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, r.RequestURI)
	}))
	t.Cleanup(srv.Close)
	c := outbound.New(outbound.Config{Allow: loopback})
	for path, want := range map[string]string{
		"/a b?q=two words":                      "/a%20b?q=two%20words",
		`/?q=é&r="<x>"`:                         "/?q=%C3%A9&r=%22%3Cx%3E%22",
		"/?q=%41+b%20c&d=e;f#g h":               "/?q=%41+b%20c&d=e;f",
		"/?to=/there%3Fq=a%2520b%2526c%3Dd%20e": "/there?q=a%20b%26c=d%20e",
		"/":                                     "/",
	} {
		if got, err := get(t, c, srv.URL+path); err != nil || got != want {
			t.Errorf("%s asks for %q, %v, want %q", path, got, err, want)
		}
	}
}

// The standard library reads the environment's proxies once in a process, so they are there
// before the first request.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

func TestIgnoresProxies(t *testing.T) {
	proxy, tg := listen(t), listen(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+proxy.port)
	}
	names := map[string][]netip.Addr{"site.example": {netip.MustParseAddr("127.0.0.1")}}
	for _, tc := range []struct {
		name   string
		config outbound.Config
		want   error
	}{
		{"guarded", outbound.Config{Resolver: resolver(names)}, outbound.ErrRefused},
		{"allowed", outbound.Config{Resolver: resolver(names), Allow: loopback}, nil},
		{"base", outbound.Config{Resolver: resolver(names), Base: parse(t, "http://site.example:"+tg.port)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, err := get(t, outbound.New(tc.config), "http://site.example:"+tg.port+"/")
			if !errors.Is(err, tc.want) || (tc.want == nil && body != "inside") {
				t.Errorf("got %q, %v, want error %v", body, err, tc.want)
			}
		})
	}
	if n := proxy.count.Load(); n != 0 {
		t.Errorf("the proxy saw %d connections, want none", n)
	}
}

func TestPorts(t *testing.T) {
	names := map[string][]netip.Addr{"public.example": {netip.MustParseAddr("93.184.215.14")}}
	client := outbound.New(outbound.Config{Resolver: resolver(names)})
	for _, port := range []string{"22", "25", "8080", "8443", "6379", "65535"} {
		t.Run(port, func(t *testing.T) {
			if _, err := get(t, client, "http://public.example:"+port+"/"); !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("got %v, want ErrRefused", err)
			}
		})
	}
}

func TestExceptions(t *testing.T) {
	tg, other := listen(t), listen(t)
	base := parse(t, "http://localhost:"+tg.port)
	for _, tc := range []struct {
		name   string
		config outbound.Config
		url    string
		want   error
	}{
		{"allow, address", outbound.Config{Allow: loopback}, "http://127.0.0.1:" + tg.port, nil},
		{"allow, name", outbound.Config{Allow: loopback}, "http://localhost:" + tg.port, nil},
		{"allow, mapped", outbound.Config{Allow: loopback}, "http://[::ffff:127.0.0.1]:" + tg.port, nil},
		{"allow, another range", outbound.Config{Allow: loopback}, "http://10.0.0.1:" + tg.port, outbound.ErrRefused},
		{"base", outbound.Config{Base: base}, "http://localhost:" + tg.port, nil},
		{"base, another port", outbound.Config{Base: base}, "http://localhost:" + other.port, outbound.ErrRefused},
		{"base, another name", outbound.Config{Base: base}, "http://127.0.0.1:" + tg.port, outbound.ErrRefused},
		{"no base", outbound.Config{}, "http://localhost:" + tg.port, outbound.ErrRefused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, err := get(t, outbound.New(tc.config), tc.url)
			if !errors.Is(err, tc.want) || (tc.want == nil && body != "inside") {
				t.Errorf("got %q, %v, want error %v", body, err, tc.want)
			}
		})
	}
	if n := other.count.Load(); n != 0 {
		t.Errorf("the other port saw %d connections, want none", n)
	}
}

func TestRequestsCarryLittle(t *testing.T) {
	var seen []http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	}))
	defer srv.Close()
	client := outbound.New(outbound.Config{Allow: loopback})
	if _, err := get(t, client, srv.URL+"/?api_key=secret"); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 {
		t.Fatalf("got %d requests, want 2", len(seen))
	}
	for i, h := range seen {
		if h.Get("Cookie") != "" || h.Get("Referer") != "" || h.Get("User-Agent") != "chattray" {
			t.Errorf("request %d: got %v, want no cookie, no referrer and our name", i, h)
		}
	}
}

func TestLimits(t *testing.T) {
	var hops atomic.Int64
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			hops.Add(1)
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/body":
			_, _ = w.Write(make([]byte, 1001))
		case "/exact":
			_, _ = w.Write(make([]byte, 1000))
		case "/br", "/UTF-8":
			w.Header().Set("Content-Encoding", r.URL.Path[1:])
			_, _ = io.WriteString(w, "text")
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 80<<10))
		case "/slow":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	}))
	defer srv.Close()
	defer close(release)
	for _, tc := range []struct {
		path    string
		timeout time.Duration
		want    error
	}{
		{"/exact", time.Minute, nil},
		{"/body", time.Minute, outbound.ErrTooLarge},
		{"/loop", time.Minute, outbound.ErrRedirects},
		{"/br", time.Minute, outbound.ErrCoding},
		{"/UTF-8", time.Minute, nil},
		{"/slow", 300 * time.Millisecond, context.DeadlineExceeded},
	} {
		t.Run(tc.path, func(t *testing.T) {
			client := outbound.New(outbound.Config{Allow: loopback, MaxBody: 1000, Timeout: tc.timeout})
			if _, err := get(t, client, srv.URL+tc.path); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	if _, err := get(t, outbound.New(outbound.Config{Allow: loopback}), srv.URL+"/header"); err == nil {
		t.Error("got no error, want one for headers over the limit")
	}
	if n := hops.Load(); n != outbound.MaxRedirects+1 {
		t.Errorf("a loop of redirects takes %d requests, want %d", n, outbound.MaxRedirects+1)
	}
}

func TestTimeouts(t *testing.T) {
	for _, tc := range []struct{ timeout, whole, wait time.Duration }{
		{0, 30 * time.Second, 20 * time.Second}, {time.Minute, time.Minute, 20 * time.Second}, {outbound.NoTimeout, 0, 0},
	} {
		client := outbound.New(outbound.Config{Timeout: tc.timeout})
		if wait := outbound.HeaderWait(client); client.Timeout != tc.whole || wait != tc.wait {
			t.Errorf("Timeout %s: the client ends after %s and waits %s for an answer, want %s and %s", tc.timeout, client.Timeout, wait, tc.whole, tc.wait)
		}
	}
}

// A connection of HTTP/2 that has died without a word, for which an MCP server's stream is kept
// open, is given up before the next exchange with the same server has ended.
func TestDeadConnection(t *testing.T) {
	client := outbound.New(outbound.Config{})
	if found := outbound.FoundDead(client); found == 0 || found >= client.Timeout {
		t.Errorf("a dead connection is found after %s, want less than the %s of an exchange", found, client.Timeout)
	}
}

func TestExplain(t *testing.T) {
	client := outbound.New(outbound.Config{Allow: loopback})
	_, err := get(t, client, "http://10.0.0.1/?api_key=secret")
	got := outbound.Explain(t.Context(), "PubMed", err)
	if v := schemas.Visible(got); v.Code != schemas.CodeForbidden || !strings.HasPrefix(v.Message, "PubMed may not be reached") {
		t.Errorf("got %v, want a refusal", v)
	}
	if strings.Contains(got.Error(), "secret") || strings.Contains(got.Error(), "10.0.0.1/") {
		t.Errorf("got %v, want no URL in it", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user stopped it")
	cancel(stop)
	if got := outbound.Explain(ctx, "PubMed", err); !errors.Is(got, stop) {
		t.Errorf("got %v, want the context's cause", got)
	}
	for status, want := range map[int]schemas.Code{
		400: schemas.CodeUpstreamError, 403: schemas.CodeUpstreamAuth, 404: schemas.CodeNotFound,
		429: schemas.CodeRateLimited, 503: schemas.CodeUpstreamUnavailable,
	} {
		if got := schemas.Visible(outbound.Status("PubMed", status)).Code; got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
