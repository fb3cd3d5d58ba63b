// Package guard says which calls of a model need the user's approval because of
// what the model has read: text from outside may tell it to do something, or to
// leak data in a URL.
//
// A guard gets the messages of a conversation, oldest first, and stores
// nothing: the same conversation gives the same answers again.
package guard

import (
	"encoding/json"
	"hash/maphash"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
)

// Mode is the value of the setting approve_after_untrusted.
type Mode string

// The modes; the zero value is Effects.
const (
	Off     Mode = "off"     // no call needs approval
	Effects Mode = "effects" // calls of tools with effects, and URLs that nobody gave
	All     Mode = "all"     // every call
)

// maxURLs is how many URLs of a conversation each of the three sets remembers. A URL
// that no longer fits does not count as given.
const maxURLs = 50_000

var seed = maphash.MakeSeed()

// Guard knows which URLs were named in a conversation and whether text came
// from outside. It is safe for concurrent use.
type Guard struct {
	base *Guard // the guard of the earlier messages; nil for none

	settling sync.Mutex // held while pending is read

	mu      sync.Mutex
	outside bool
	// pending reads the URLs of the messages, in order. Most conversations
	// never need them.
	pending []func()
	// given are URLs that users and tools gave, made are URLs that the model wrote
	// before anybody gave them, sent are URLs that calls have sent, with the tool's
	// name. All are hashes.
	given, made, sent map[uint64]struct{}
}

// New returns a guard for a conversation that continues after base, which must
// not change any more; nil means a new conversation.
func New(base *Guard) *Guard {
	return &Guard{base: base, given: map[uint64]struct{}{}, made: map[uint64]struct{}{}, sent: map[uint64]struct{}{}}
}

// Outside records that the model has read text from outside.
func (g *Guard) Outside() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outside = true
}

// later reads URLs when they are needed.
func (g *Guard) later(read func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = append(g.pending, read)
}

// settle reads what is pending.
func (g *Guard) settle() {
	if g.base != nil {
		g.base.settle()
	}
	g.settling.Lock()
	defer g.settling.Unlock()
	g.mu.Lock()
	pending := g.pending
	g.pending = nil
	g.mu.Unlock()
	for _, read := range pending {
		read()
	}
}

// Gave takes a text of the user.
func (g *Guard) Gave(text string) {
	g.later(func() {
		for key := range weburl.Given(text) {
			g.add(g.given, hash(key))
		}
	})
}

// Called takes the input of a call, as the model wrote it.
func (g *Guard) Called(input string) {
	g.later(func() { g.called(input) })
}

func (g *Guard) called(input string) {
	made := func(key string) {
		if h := hash(key); !g.has(h, gaveIt) {
			g.add(g.made, h)
		}
	}
	for key := range weburl.Given(input) {
		made(key)
	}
	for _, key := range weburl.SentIn(json.RawMessage(input)) {
		made(key)
	}
}

// Answered takes the outcome of a call. A result that repeats a URL which the model
// wrote does not give that URL. A URL that the call has sent may be sent again. An
// unknown tool counts as one that reads text from outside.
func (g *Guard) Answered(t turn.Tool, known bool, input, text string, isError bool) {
	if t.Untrusted || !known {
		g.Outside()
	}
	g.later(func() { g.answered(t, known, input, text, isError) })
}

func (g *Guard) answered(t turn.Tool, known bool, input, text string, isError bool) {
	if t.Addresses != nil && !isError {
		for _, key := range t.Addresses(json.RawMessage(input)) {
			g.add(g.sent, hash(t.Name+" "+key))
		}
	}
	if t.Retold || !known || g.full() {
		return
	}
	for key := range weburl.Given(text) {
		if h := hash(key); !g.has(h, madeIt) {
			g.add(g.given, h)
		}
	}
}

// Join takes over what another guard has taken since its base.
func (g *Guard) Join(o *Guard) {
	o.settle()
	g.settle()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.outside {
		g.Outside()
	}
	for h := range o.made {
		if !g.has(h, gaveIt) {
			g.add(g.made, h)
		}
	}
	for h := range o.given {
		if !g.has(h, madeIt) {
			g.add(g.given, h)
		}
	}
}

// Why returns why a call of the tool needs approval now, "" if it needs none.
func (g *Guard) Why(mode Mode, t turn.Tool, input json.RawMessage) schemas.ApprovalReason {
	if !Matters(mode, t) || !g.isOutside() {
		return ""
	}
	if t.Addresses != nil {
		g.settle()
		for _, key := range t.Addresses(input) {
			if !g.has(hash(key), gaveIt) && !g.has(hash(t.Name+" "+key), sentIt) {
				return schemas.ReasonUnseenURL
			}
		}
	}
	if t.Effects || mode == All {
		return schemas.ReasonAfterUntrusted
	}
	return ""
}

// Matters reports whether it depends on the conversation if a call of the tool
// needs approval.
func Matters(mode Mode, t turn.Tool) bool {
	return mode == All || mode != Off && (t.Effects || t.Addresses != nil)
}

func (g *Guard) isOutside() bool {
	for ; g != nil; g = g.base {
		g.mu.Lock()
		outside := g.outside
		g.mu.Unlock()
		if outside {
			return true
		}
	}
	return false
}

// The sets of a guard.
func gaveIt(g *Guard) map[uint64]struct{} { return g.given }
func madeIt(g *Guard) map[uint64]struct{} { return g.made }
func sentIt(g *Guard) map[uint64]struct{} { return g.sent }

func (g *Guard) has(h uint64, in func(*Guard) map[uint64]struct{}) bool {
	for ; g != nil; g = g.base {
		g.mu.Lock()
		_, ok := in(g)[h]
		g.mu.Unlock()
		if ok {
			return true
		}
	}
	return false
}

func (g *Guard) add(set map[uint64]struct{}, h uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(set) < maxURLs {
		set[h] = struct{}{}
	}
}

// full reports whether some URLs of the model are not remembered: results then
// give no URLs.
func (g *Guard) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.made) >= maxURLs
}

func hash(key string) uint64 { return maphash.String(seed, key) }
