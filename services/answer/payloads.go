package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
func (wr *Writer) name(p turn.Payload, source string) *schemas.CustomPayload {
	t := wr.payloadType(p.Type)
	data, err := decoded(&p, t)
	if err != nil {
		wr.warn("A payload of type " + p.Type + " did not fit its schema and was left out.")
		wr.dropped = append(wr.dropped, p.Type+": "+string(p.Data[:min(len(p.Data), maxPayloadData)]))
		return nil
	}
	if len(wr.payloads) >= maxPayloads {
		wr.warn("Some payloads were left out: there were too many.")
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
	wr.payloads = append(wr.payloads, named)
	return &named
}

// take marks a payload id as in use.
func (wr *Writer) take(id string) {
	if wr.taken == nil {
		wr.taken = make(map[string]bool)
	}
	wr.taken[id] = true
}
