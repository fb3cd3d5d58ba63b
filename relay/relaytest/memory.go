package relaytest

import (
	"sync"

	"github.com/chattray/chattray/relay"
)

// Memory carries messages between parts of one process. The zero value is
// ready; it is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	ports map[string]*Port
}

// Port is a carrier of one participant.
type Port struct {
	memory *Memory
	id     string

	mu      sync.Mutex
	down    bool
	receive func([]byte)
}

// Port returns the carrier of a new participant.
func (m *Memory) Port() *Port { return &Port{memory: m} }

// Receive behaves like that of NATS.
func (p *Port) Receive(id string, f func(message []byte)) error {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if p.memory.ports == nil {
		p.memory.ports = make(map[string]*Port)
	}
	delete(p.memory.ports, p.id)
	p.id = id
	p.memory.ports[id] = p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receive = f
	return nil
}

// Cut takes the participant off, or back on.
func (p *Port) Cut(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Up reports whether the participant is not cut off.
func (p *Port) Up() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.down
}

// Send sends a message to one participant.
func (p *Port) Send(to string, message []byte) error {
	if !p.Up() {
		return relay.ErrDown
	}
	p.memory.mu.Lock()
	other := p.memory.ports[to]
	p.memory.mu.Unlock()
	if other != nil {
		other.take(message)
	}
	return nil
}

// SendAll sends a message to all other participants.
func (p *Port) SendAll(message []byte) error {
	if !p.Up() {
		return relay.ErrDown
	}
	var others []*Port
	p.memory.mu.Lock()
	for _, other := range p.memory.ports {
		if other != p {
			others = append(others, other)
		}
	}
	p.memory.mu.Unlock()
	for _, other := range others {
		other.take(message)
	}
	return nil
}

func (p *Port) take(message []byte) {
	p.mu.Lock()
	receive, down := p.receive, p.down
	p.mu.Unlock()
	if !down && receive != nil {
		receive(message)
	}
}
