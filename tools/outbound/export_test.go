package outbound

import (
	"net/http"
	"time"
)

// HeaderWait returns how long a client waits for the first byte of an answer.
func HeaderWait(c *http.Client) time.Duration {
	return c.Transport.(*checked).next.(*http.Transport).ResponseHeaderTimeout
}

// FoundDead returns after which time a client notices that a connection of HTTP/2 is dead; 0
// means never.
func FoundDead(c *http.Client) time.Duration {
	config := c.Transport.(*checked).next.(*http.Transport).HTTP2
	if config == nil || config.SendPingTimeout == 0 {
		return 0
	}
	return config.SendPingTimeout + config.PingTimeout
}
