// Package actions owns the server actions: what the service does, without a call
// of the model, when the user clicks a suggested action whose handler is server.
package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of one click and of what its errors quote.
const (
	maxData   = 256 << 10 // bytes of a click's data
	maxDetail = 300       // characters of what a schema says of them
	maxQuoted = 200       // characters of a name or a path
)

// Action is a server action. Its functions must be safe for concurrent use.
type Action struct {
	Name string
	// Schema is the JSON schema of the data, an object.
	Schema json.RawMessage
	// Check says what is wrong with data that fits Schema; nil checks nothing.
	Check func(data json.RawMessage) error
	// Allow says why this user cannot do it now, without doing it; nil allows it.
	// The error is schemas.ErrNotFound where the user may not know of the thing.
	Allow func(ctx context.Context, call Call) error
	// Handle does it. A *schemas.Error in its error's tree is what the client
	// sees.
	Handle func(ctx context.Context, call Call) (Outcome, error)
}

// Call is one click. A handler's Data fits the action's schema.
type Call struct {
	Action         string
	Data           json.RawMessage
	User           schemas.User
	ConversationID int64
	Context        schemas.Object
}

// CallOf returns the click of a request; conversationID is 0 while there is no chat.
func CallOf(req *schemas.ChatRequest, user schemas.User, conversationID int64) Call {
	return Call{Action: req.ActionMetadata.ActionIdentifier, Data: req.ActionMetadata.ActionData, User: user, ConversationID: conversationID, Context: req.Context}
}

// Outcome is the result of a click. Text is the answer, in Markdown; Payload is
// for the page, nil if there is none.
type Outcome struct {
	Text    string
	Payload *turn.Payload
}

// Actions are the server actions by name. They never change and are safe for
// concurrent use.
type Actions struct {
	byName map[string]compiled
	names  []string
}

type compiled struct {
	Action
	schema *jsonschema.Resolved
	bounds *jsonlimit.Bounds
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// New returns the actions. The error joins every mistake: names, duplicates,
// schemas, absent handlers.
func New(list ...Action) (*Actions, error) {
	a := &Actions{byName: make(map[string]compiled)}
	var errs []error
	for _, action := range list {
		resolved, bounds, err := compileSchema(action.Schema)
		switch {
		case !namePattern.MatchString(action.Name):
			err = errors.New("the name must be lower case letters, digits and _ (at most 64)")
		case action.Handle == nil:
			err = errors.New("there is no handler")
		case a.Has(action.Name):
			err = errors.New("there are two of this name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("action %q: %w", action.Name, err))
			continue
		}
		a.byName[action.Name] = compiled{action, resolved, bounds}
		a.names = append(a.names, action.Name)
	}
	slices.Sort(a.names)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

func compileSchema(raw json.RawMessage) (*jsonschema.Resolved, *jsonlimit.Bounds, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	if s.Type != "object" {
		return nil, nil, errors.New(`schema: "type" must be "object"`)
	}
	bounds, err := jsonlimit.Read(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	return resolved, bounds, nil
}

// Names returns the names in order.
func (a *Actions) Names() []string { return slices.Clone(a.names) }

// Has reports whether there is an action of that name.
func (a *Actions) Has(name string) bool {
	_, ok := a.byName[name]
	return ok
}

// Check says what is wrong with a click, for any user. An unknown action and data
// that does not fit are errors of code invalid; absent data counts as {}.
func (a *Actions) Check(name string, data json.RawMessage) error {
	_, _, err := a.find(Call{Action: name, Data: data})
	return err
}

// Allow says why the click cannot be done, without doing it: the error of Check,
// or the one of the action's Allow.
func (a *Actions) Allow(ctx context.Context, call Call) error {
	action, call, err := a.find(call)
	if err != nil || action.Allow == nil {
		return err
	}
	return action.Allow(ctx, call)
}

// Run checks the click and does it.
func (a *Actions) Run(ctx context.Context, call Call) (Outcome, error) {
	action, call, err := a.find(call)
	if err != nil {
		return Outcome{}, err
	}
	return action.Handle(ctx, call)
}

// find returns the action, and the call with its data checked.
func (a *Actions) find(call Call) (compiled, Call, error) {
	action, ok := a.byName[call.Action]
	if !ok {
		return action, call, invalid("/action_metadata/action_identifier", "there is no such action")
	}
	if len(call.Data) == 0 || string(call.Data) == "null" {
		call.Data = json.RawMessage("{}")
	}
	if len(call.Data) > maxData {
		return action, call, invalid(dataPointer, fmt.Sprintf("has more than %d bytes", maxData))
	}
	var v any
	if err := json.Unmarshal(call.Data, &v); err != nil {
		return action, call, invalid(dataPointer, "is no JSON")
	}
	if err := action.bounds.Allow(v); err != nil {
		return action, call, invalid(dataPointer, err.Error())
	}
	if err := action.schema.Validate(v); err != nil {
		return action, call, invalid(dataPointer, text.Line(err.Error(), maxDetail))
	}
	if action.Check != nil {
		return action, call, action.Check(call.Data)
	}
	return action, call, nil
}

const dataPointer = "/action_metadata/action_data"

func invalid(pointer, detail string) error {
	e := schemas.NewError(schemas.CodeInvalid, "the action cannot be done as asked")
	e.Fields = []schemas.FieldError{{Pointer: pointer, Detail: detail}}
	return e
}
