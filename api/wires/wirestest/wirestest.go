// Package wirestest tests wires: what the clients of each wire show and refuse, and the
// responses that they get for a stored run.
package wirestest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// clients are the clients of each wire. They return the text that they show, or an error for
// what they refuse.
var clients = map[string]func(version string, responses [][]byte) (string, error){
	"agui": anyVersion(agui), "completions": anyVersion(completions), "responses": anyVersion(responses), "ui": ui,
}

// anyVersion is a client whose versions refuse the same.
func anyVersion(client func(responses [][]byte) (string, error)) func(string, [][]byte) (string, error) {
	return func(_ string, responses [][]byte) (string, error) { return client(responses) }
}

// Check returns the text that a client of a version of the wire shows for the responses to one run, each
// of which continues the one before. The error says what the client refuses.
func Check(wire, version string, responses [][]byte) (text string, err error) {
	client, ok := clients[wire]
	if !ok {
		return "", fmt.Errorf("the wire %s has no client", wire)
	}
	return client(version, responses)
}

// doneFrames passes the data of a response's frames to take. The last frame is [DONE], and no
// other.
func doneFrames(response []byte, take func(data string, first bool) error) error {
	frames := strings.Split(strings.TrimSuffix(string(response), "\n\n"), "\n\n")
	for i, frame := range frames {
		data, ok := strings.CutPrefix(frame, "data: ")
		switch done := data == "[DONE]"; {
		case !ok || strings.ContainsAny(data, "\n\r"):
			return fmt.Errorf("frame %q", frame)
		case done != (i == len(frames)-1):
			return fmt.Errorf("the end is frame %d of %d", i, len(frames))
		case done:
			continue
		}
		if err := take(data, i == 0); err != nil {
			return fmt.Errorf("%s: %w", data, err)
		}
	}
	return nil
}

// requires returns an error for a member that an object lacks; the names of those that may be
// null end with a question mark.
func requires(have map[string]any, members string) error {
	for name := range strings.FieldsSeq(members) {
		name, nullable := strings.CutSuffix(name, "?")
		if v, given := have[name]; !given || v == nil && !nullable {
			return fmt.Errorf("%s is missing or null", name)
		}
	}
	return nil
}

// exactly returns an error for a member that an event lacks, beside its type, that is null or
// that is unknown; the names of those that are optional end with a question mark.
func exactly(have map[string]json.RawMessage, members string) error {
	delete(have, "type")
	for name := range strings.FieldsSeq(members) {
		name, optional := strings.CutSuffix(name, "?")
		v, given := have[name]
		if !given && !optional || string(v) == "null" {
			return fmt.Errorf("%s is missing or null", name)
		}
		delete(have, name)
	}
	for name := range have {
		return fmt.Errorf("%s is unknown", name)
	}
	return nil
}

// noNull returns an error for a null in JSON, except in the nullable members and in what the
// service adds.
func noNull(data string, nullable ...string) error {
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		return err
	}
	var find func(name string, value any) error
	find = func(name string, value any) error {
		switch value := value.(type) {
		case nil:
			if !slices.Contains(nullable, name) {
				return fmt.Errorf("%q is null", name)
			}
		case map[string]any:
			for name, member := range value {
				if err := find(name, member); err != nil && name != "chattray" {
					return err
				}
			}
		case []any:
			for _, item := range value {
				if err := find(name, item); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return find("", value)
}
