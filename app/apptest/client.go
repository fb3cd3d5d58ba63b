package apptest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// Client sends requests to a service over HTTP, as one of its users.
type Client struct {
	*testing.T
	URL    string
	Tokens map[string]string
}

// Reply is an answer with its whole body.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Ask sends a request of the user; match is its If-Match, "" for none.
func (c *Client) Ask(user, method, path, match string, body any) Reply {
	c.Helper()
	var raw io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.Fatal(err)
		}
		raw = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, raw)
	if err != nil {
		c.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Tokens[user])
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if match != "" {
		request.Header.Set("If-Match", match)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Error(err)
		return Reply{}
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		c.Error(err)
	}
	return Reply{answer.StatusCode, answer.Header, string(got)}
}

// Open sends a request as ann and returns its answer, whose body is still to be read and
// closed.
func (c *Client) Open(method, path string, body any) *http.Response {
	c.Helper()
	request, err := NewRequest(c.Context(), method, c.URL+path, body, "Authorization", "Bearer "+c.Tokens["ann"])
	if err != nil {
		c.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	return answer
}

// Must sends a request as ann and fails the test if it does not succeed.
func (c *Client) Must(method, path string, body any) Reply {
	c.Helper()
	got := c.Ask("ann", method, path, "", body)
	if got.Status >= http.StatusMultipleChoices {
		c.Fatalf("%s %s: status %d, want success: %s", method, path, got.Status, got.Body)
	}
	return got
}

// Decode returns an answer as a T.
func Decode[T any](t *testing.T, r Reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.Body), &v); err != nil {
		t.Fatalf("decoding the answer with status %d: %v, in %s", r.Status, err, r.Body)
	}
	return v
}
