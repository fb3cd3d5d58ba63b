package outbound

import (
	"net/http"
	"time"
)

// HeaderWait returns how long a client waits for the first byte of an answer.
func HeaderWait(c *http.Client) time.Duration {
	return c.Transport.(*checked).next.(*http.Transport).ResponseHeaderTimeout
}
