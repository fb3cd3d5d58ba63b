package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// payloadType returns the payload type of that name, or one without checks.
func (wr *Writer) payloadType(name string) turn.PayloadType {
	for i := range wr.prepared.Types {
		if wr.prepared.Types[i].Name == name {
			return wr.prepared.Types[i]
		}
	}
	return turn.PayloadType{Name: name}
}

// decoded puts a payload's data on one line and returns it as its type decodes it. An
// error says why the payload cannot be shown.
func decoded(p *turn.Payload, t turn.PayloadType) (any, error) {
	if len(p.Data) > maxPayloadData {
		return nil, errPayloadSize
	}
	if bytes.ContainsAny(p.Data, "\n\r") || t.Check == nil {
		var line bytes.Buffer
		if err := json.Compact(&line, p.Data); err != nil {
			return nil, err
		}
		p.Data = line.Bytes()
	}
	if t.Check != nil {
		return t.Check(p.Data)
	}
	return nil, nil
}

// name gives a payload its id and summary. The id depends only on the run and the
// payload's number, so that a recovered run gives it the same id. It returns nil for a
// payload that does not fit its type.
func (wr *Writer) name(p turn.Payload, source string, place int) *schemas.CustomPayload {
	t := wr.payloadType(p.Type)
	data, err := decoded(&p, t)
	if err != nil {
		wr.warn("A card (" + strings.ReplaceAll(p.Type, "_", " ") + ") could not be shown: its data was not as it has to be.")
		wr.dropped = append(wr.dropped, p.Type+": "+string(p.Data[:min(len(p.Data), maxPayloadData)]))
		return nil
	}
	if len(wr.payloads) >= maxPayloads {
		wr.warn("Some cards are not shown: there were too many.")
		return nil
	}
	named := schemas.CustomPayload{Type: p.Type, Data: p.Data, Source: source}
	for salt := 0; named.PayloadID == "" || wr.taken[named.PayloadID]; salt++ {
		sum := sha256.Sum256([]byte(wr.run.ID + "/" + strconv.Itoa(len(wr.payloads)) + "/" + strconv.Itoa(salt)))
		named.PayloadID = hex.EncodeToString(sum[:4])
	}
	wr.take(named.PayloadID)
	if t.Summarize != nil {
		named.Summary = t.Summarize(data)
	}
	if named.Summary == "" {
		named.Summary = strings.ReplaceAll(p.Type, "_", " ")
	}
	wr.keep(named, place)
	return &named
}

// Calls that run side by side end in any order. Payloads are in the order of their
// places: that of a call is after the text of the reply that asks for it, and before
// the call after it.

// callPlace is the place of a call's payload.
func callPlace(index int) int { return 2*index + 1 }

// textPlace is the place of a payload in the text of the reply that is being read.
func (wr *Writer) textPlace() int {
	calls := 0
	if n := len(wr.steps); n > 0 {
		calls = wr.steps[n-1].Reply.FirstIndex + len(wr.steps[n-1].Reply.ToolCalls)
	}
	return 2 * calls
}

// keep puts a payload in its place, after those that are there.
func (wr *Writer) keep(p schemas.CustomPayload, place int) {
	at, _ := slices.BinarySearch(wr.places, place+1)
	wr.payloads, wr.places = slices.Insert(wr.payloads, at, p), slices.Insert(wr.places, at, place)
}

// take marks a payload id as in use.
func (wr *Writer) take(id string) {
	if wr.taken == nil {
		wr.taken = make(map[string]bool)
	}
	wr.taken[id] = true
}
