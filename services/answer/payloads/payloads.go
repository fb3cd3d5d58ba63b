// Package payloads has the payloads of one answer: it checks them against their
// types, gives them ids and keeps them in the order in which the model wrote or
// asked for them.
package payloads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of what one run shows.
const (
	maxPayloads = 64
	maxData     = 2 << 20   // bytes
	maxReason   = 300       // characters of why a payload is not shown
	maxShown    = 256 << 10 // bytes of such a payload in the trace
)

var errSize = fmt.Errorf("it has more than %d bytes", maxData)

// List has the payloads of one answer.
type List struct {
	run    string
	types  []turn.PayloadType
	taken  map[string]bool // payload ids of the chat
	list   []schemas.CustomPayload
	places []int // places of the payloads, see CallPlace
}

// New returns the empty list of a run.
func New(run string) List { return List{run: run} }

// Use gives the list the types that the page offers, and the ids that the chat has.
func (l *List) Use(types []turn.PayloadType, ids []string) {
	l.types = types
	for _, id := range ids {
		l.take(id)
	}
}

// All returns the payloads in order.
func (l *List) All() []schemas.CustomPayload { return l.list }

// Refused is why a payload is not shown: for the user, and for the trace.
type Refused struct {
	Warning string
	Dropped schemas.DroppedPart
}

// Add gives a payload its id and summary and puts it in its place. The id depends
// only on the run and the payload's number, so that a recovered run gives it the same
// id. A payload that does not fit its type is refused.
func (l *List) Add(p turn.Payload, source string, place int) (*schemas.CustomPayload, *Refused) {
	t := l.typeOf(p.Type)
	data, err := decoded(&p, t)
	if err != nil {
		told := "its data was not valid"
		if errors.Is(err, errSize) {
			told = "it was too large"
		}
		return nil, refuse(p, err.Error(), "A card ("+strings.ReplaceAll(p.Type, "_", " ")+") could not be shown: "+told+".")
	}
	if len(l.list) >= maxPayloads {
		return nil, refuse(p, fmt.Sprintf("an answer shows at most %d payloads", maxPayloads), "Some cards are not shown: there were too many.")
	}
	named := schemas.CustomPayload{Type: p.Type, Data: p.Data, Source: source}
	for salt := 0; named.PayloadID == "" || l.taken[named.PayloadID]; salt++ {
		sum := sha256.Sum256([]byte(l.run + "/" + strconv.Itoa(len(l.list)) + "/" + strconv.Itoa(salt)))
		named.PayloadID = hex.EncodeToString(sum[:4])
	}
	if t.Summarize != nil {
		named.Summary = t.Summarize(data)
	}
	if named.Summary == "" {
		named.Summary = strings.ReplaceAll(p.Type, "_", " ")
	}
	l.Keep(named, place)
	return &named, nil
}

func refuse(p turn.Payload, reason, warning string) *Refused {
	return &Refused{Warning: warning, Dropped: schemas.DroppedPart{
		Type: p.Type, Reason: text.Line(reason, maxReason), Text: string(p.Data[:min(len(p.Data), maxShown)]),
	}}
}

// typeOf returns the payload type of that name, or one without checks.
func (l *List) typeOf(name string) turn.PayloadType {
	for i := range l.types {
		if l.types[i].Name == name {
			return l.types[i]
		}
	}
	return turn.PayloadType{Name: name}
}

// decoded puts a payload's data on one line and returns it as its type decodes
// it. The error says why the payload cannot be shown.
func decoded(p *turn.Payload, t turn.PayloadType) (any, error) {
	if len(p.Data) > maxData {
		return nil, errSize
	}
	if bytes.ContainsAny(p.Data, "\n\r") || t.Check == nil {
		var line bytes.Buffer
		if err := json.Compact(&line, p.Data); err != nil {
			return nil, err
		}
		p.Data = line.Bytes()
	}
	if err := turn.Showable("its data", p.Data); err != nil {
		return nil, err
	}
	if t.Check != nil {
		return t.Check(p.Data)
	}
	return nil, nil
}

// Calls that run side by side end in any order. Payloads are in the order of their
// places: a call's payload comes after the text of the reply that asks for the
// call, and before the payload of the next call.

// CallPlace is the place of a call's payload.
func CallPlace(index int) int { return 2*index + 1 }

// TextPlace is the place of a payload in the text after that many calls.
func TextPlace(calls int) int { return 2 * calls }

// Keep puts a payload that has its id in its place, after those that are there.
func (l *List) Keep(p schemas.CustomPayload, place int) {
	l.take(p.PayloadID)
	at, _ := slices.BinarySearch(l.places, place+1)
	l.list, l.places = slices.Insert(l.list, at, p), slices.Insert(l.places, at, place)
}

// take marks a payload id as in use.
func (l *List) take(id string) {
	if l.taken == nil {
		l.taken = make(map[string]bool)
	}
	l.taken[id] = true
}

// Newest returns the last payload of a tool, else the last one of the model's
// text; nil if there is none.
func (l *List) Newest() *schemas.CustomPayload {
	for _, source := range []string{"tool", "llm"} {
		for _, p := range slices.Backward(l.list) {
			if p.Source == source {
				return &p
			}
		}
	}
	return nil
}

// Link sets the payload that each suggested action accepts: the payload that
// the model named, if the chat has it, else the last of its type in this
// answer.
func (l *List) Link(actions []schemas.SuggestedAction, offered []schemas.Action) {
	for i := range actions {
		a := &actions[i]
		at := slices.IndexFunc(offered, func(d schemas.Action) bool { return d.Action == a.Action })
		switch {
		case at < 0 || offered[at].PayloadType == "":
			a.PayloadID = ""
			continue
		case l.taken[a.PayloadID]:
			continue
		}
		a.PayloadID = ""
		for _, p := range l.list {
			if p.Type == offered[at].PayloadType {
				a.PayloadID = p.PayloadID
			}
		}
	}
}
