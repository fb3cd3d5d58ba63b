package services

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

// maxActionData is the size in bytes of the data of one click.
const maxActionData = 256 << 10

// Action is a server action: what the service does when the user clicks a
// suggested action whose handler is server (3-agent.md, "Suggested actions").
// It is safe for concurrent use.
type Action struct {
	Name string
	// Schema is the JSON schema of the data, an object.
	Schema json.RawMessage
	// Check says what is wrong with data that fits Schema; nil is nothing.
	Check func(data json.RawMessage) error
	// Allow says why this user cannot do it, or not now, without doing it; nil
	// allows it. A refusal is schemas.ErrNotFound where the user may not know
	// of the thing.
	Allow func(ctx context.Context, call ActionCall) error
	// Handle does it. A *schemas.Error in its error's tree says what the client
	// may see.
	Handle func(ctx context.Context, call ActionCall) (ActionOutcome, error)
}

// ActionCall is one click. A handler's Data fits the action's schema.
type ActionCall struct {
	Action         string
	Data           json.RawMessage
	User           schemas.User
	ConversationID int64
	Context        schemas.Object
}

// ActionOutcome is what came of a click: Text, in Markdown, is the answer, and
// Payload, where there is one, is for the page.
type ActionOutcome struct {
	Text    string
	Payload *turn.Payload
}

// Actions are the server actions by name. It never changes and is safe for
// concurrent use.
type Actions struct {
	byName map[string]compiledAction
	names  []string
}

type compiledAction struct {
	Action
	schema *jsonschema.Resolved
	bounds *jsonlimit.Bounds
}

var actionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// NewActions returns the actions. The error joins everything that is wrong with
// them: names, duplicates, schemas, absent handlers.
func NewActions(list ...Action) (*Actions, error) {
	a := &Actions{byName: make(map[string]compiledAction)}
	var errs []error
	for _, action := range list {
		resolved, bounds, err := compileActionSchema(action.Schema)
		switch {
		case !actionName.MatchString(action.Name):
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
		a.byName[action.Name] = compiledAction{action, resolved, bounds}
		a.names = append(a.names, action.Name)
	}
	slices.Sort(a.names)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

func compileActionSchema(raw json.RawMessage) (*jsonschema.Resolved, *jsonlimit.Bounds, error) {
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

// Has says whether there is an action of that name.
func (a *Actions) Has(name string) bool {
	_, ok := a.byName[name]
	return ok
}

// Check says what is wrong with a click, whoever makes it. An unknown action and
// data that does not fit are errors of code invalid; absent data counts as {}.
func (a *Actions) Check(name string, data json.RawMessage) error {
	_, _, err := a.find(ActionCall{Action: name, Data: data})
	return err
}

// Allow says why the click cannot be done, without doing it: what Check says,
// and what the action says of this user and of things as they are now.
func (a *Actions) Allow(ctx context.Context, call ActionCall) error {
	action, call, err := a.find(call)
	if err != nil || action.Allow == nil {
		return err
	}
	return action.Allow(ctx, call)
}

// Run checks the click and does it.
func (a *Actions) Run(ctx context.Context, call ActionCall) (ActionOutcome, error) {
	action, call, err := a.find(call)
	if err != nil {
		return ActionOutcome{}, err
	}
	return action.Handle(ctx, call)
}

// find returns the action, and the call with its data checked.
func (a *Actions) find(call ActionCall) (compiledAction, ActionCall, error) {
	action, ok := a.byName[call.Action]
	if !ok {
		return action, call, wrongAction("/action_metadata/action_identifier", "there is no such action")
	}
	if len(call.Data) == 0 || string(call.Data) == "null" {
		call.Data = json.RawMessage("{}")
	}
	if len(call.Data) > maxActionData {
		return action, call, wrongAction(actionDataPointer, fmt.Sprintf("has more than %d bytes", maxActionData))
	}
	var v any
	if err := json.Unmarshal(call.Data, &v); err != nil {
		return action, call, wrongAction(actionDataPointer, "is no JSON")
	}
	if err := action.bounds.Allow(v); err != nil {
		return action, call, wrongAction(actionDataPointer, err.Error())
	}
	if err := action.schema.Validate(v); err != nil {
		return action, call, wrongAction(actionDataPointer, text.Line(err.Error(), maxPromptPurpose))
	}
	if action.Check != nil {
		return action, call, action.Check(call.Data)
	}
	return action, call, nil
}

const actionDataPointer = "/action_metadata/action_data"

func wrongAction(pointer, detail string) error {
	e := schemas.NewError(schemas.CodeInvalid, "the action cannot be done as asked")
	e.Fields = []schemas.FieldError{{Pointer: pointer, Detail: detail}}
	return e
}
