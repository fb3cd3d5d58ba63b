// Package eutils is a client for PubMed in NCBI's E-utilities: esearch and
// esummary in JSON, efetch in XML, as the Entrez Programming Utilities Help
// documents them. It keeps NCBI's rate limit and recognizes errors inside
// successful answers. The caller decides how articles are shown.
package eutils

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/tools/outbound"
)

// baseURL is where NCBI serves the E-utilities.
const baseURL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"

// NCBI allows 3 requests a second, 10 with a key. The intervals are a little
// longer, because requests that leave evenly may arrive unevenly.
const (
	interval        = 340 * time.Millisecond
	intervalWithKey = 102 * time.Millisecond
)

// The limits of a request.
const (
	maxIDs        = 100
	maxAnswer     = 8 << 20
	maxWait       = 2 * time.Minute
	maxRetries    = 2
	retryPause    = time.Second
	maxRetryPause = 5 * time.Second
	maxCause      = 200
)

const service = "PubMed"

// Config is a client's configuration.
type Config struct {
	// BaseURL is the folder of the utilities; empty means NCBI's.
	BaseURL string
	// APIKey raises the rate; Email and Tool tell NCBI who asks.
	APIKey, Email, Tool string
	// HTTP sends the requests; nil means a guarded client that may reach
	// BaseURL.
	HTTP *http.Client
	// Sharing returns how many processes share what NCBI allows; nil means only this one.
	Sharing func() int
}

// Client calls NCBI no faster than it allows. It is safe for concurrent use.
// The rate limit holds only if the process has a single Client.
type Client struct {
	base    *url.URL
	common  url.Values
	http    *http.Client
	limiter *rate.Limiter
	every   time.Duration // between the requests of all processes
	sharing func() int
}

// New returns a client.
func New(c Config) (*Client, error) {
	base, err := url.Parse(cmp.Or(c.BaseURL, baseURL))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("the base URL of PubMed is not an http or https URL")
	}
	common := url.Values{"db": {"pubmed"}, "tool": {cmp.Or(c.Tool, "chattray")}}
	every := interval
	if c.Email != "" {
		common.Set("email", c.Email)
	}
	if c.APIKey != "" {
		common.Set("api_key", c.APIKey)
		every = intervalWithKey
	}
	client := c.HTTP
	if client == nil {
		client = outbound.New(outbound.Config{Base: base})
	}
	sharing := c.Sharing
	if sharing == nil {
		sharing = func() int { return 1 }
	}
	return &Client{base, common, client, rate.NewLimiter(rate.Every(every), 1), every, sharing}, nil
}

// Hold runs a wait that must not count as work, such as turn.Call.Waiting; nil
// only waits.
type Hold func(wait func() error) error

// get returns the answer of a utility. It waits for its turn, and retries when
// NCBI is too busy.
func (c *Client) get(ctx context.Context, hold Hold, utility string, query url.Values) ([]byte, error) {
	if hold == nil {
		hold = func(wait func() error) error { return wait() }
	}
	for try := 0; ; try++ {
		if err := hold(func() error { return c.turn(ctx) }); err != nil {
			return nil, err
		}
		body, pause, err := c.once(ctx, utility, query)
		if err == nil || pause < 0 || try == maxRetries {
			return body, err
		}
		if err := hold(func() error { return concurrent.Pause(ctx, cmp.Or(pause, retryPause<<try)) }); err != nil {
			return nil, err
		}
	}
}

// turn waits until the rate allows a request.
func (c *Client) turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if limit := rate.Every(c.every * time.Duration(max(1, c.sharing()))); limit != c.limiter.Limit() {
		c.limiter.SetLimit(limit)
	}
	if err := c.limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return schemas.NewError(schemas.CodeRateLimited, "too many requests to PubMed are waiting; try again later").Because(err)
	}
	return nil
}

// final is the pause after an error that a retry would not change.
const final = -1

// once sends one request. With an error it returns how long to wait before the
// next try; 0 means the usual time.
func (c *Client) once(ctx context.Context, utility string, query url.Values) ([]byte, time.Duration, error) {
	u := c.base.JoinPath(utility)
	values := u.Query()
	for _, set := range []url.Values{c.common, query} {
		maps.Copy(values, set)
	}
	u.RawQuery = values.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, final, outbound.Explain(ctx, service, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, final, outbound.Explain(ctx, service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, final, outbound.Explain(ctx, service, err)
	case len(body) > maxAnswer:
		return nil, final, outbound.Explain(ctx, service, outbound.ErrTooLarge)
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError || tooFast(body):
		return nil, retryAfter(resp), busy(resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, final, schemas.Visible(outbound.Status(service, resp.StatusCode)).Because(reasonOf(body))
	}
	return body, 0, nil
}

// tooFast reports whether a successful answer says that there were too many requests.
func tooFast(body []byte) bool {
	return len(body) < maxCause*2 && bytes.Contains(body, []byte("API rate limit exceeded"))
}

func busy(status int) error {
	if status < http.StatusInternalServerError {
		status = http.StatusTooManyRequests
	}
	return outbound.Status(service, status)
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	switch {
	case err != nil || seconds < 0:
		return 0
	case time.Duration(seconds)*time.Second > maxRetryPause:
		return final
	default:
		return time.Duration(seconds) * time.Second
	}
}

// failure is the error for an answer that holds an error or cannot be read.
func failure(message string, cause error) error {
	return schemas.NewError(schemas.CodeUpstreamError, message).Because(cause)
}

// reasonOf returns the reason that NCBI gave, for the log: one bounded line,
// without the rest of the body, which may repeat the key.
func reasonOf(body []byte) error {
	var v struct {
		Error string `json:"error"`
	}
	if err := unmarshal(body, &v); err != nil || v.Error == "" {
		return nil
	}
	return reason(v.Error)
}

func reason(text string) error {
	return fmt.Errorf("NCBI says %.*q", maxCause, strings.Join(strings.Fields(text), " "))
}
