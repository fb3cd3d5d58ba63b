package relay

// Waiting returns how many bytes were sent and are not yet written.
func (n *NATS) Waiting() (int, error) { return n.conn.Load().Buffered() }
