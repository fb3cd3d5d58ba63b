// Package actions owns the server actions: what the service does, without
// calling the model, when the user clicks a suggested action whose handler is
// server.
package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of one click, its answer and the texts that its errors quote.
const (
	maxData   = 256 << 10 // bytes of a click's data
	maxText   = 20_000    // characters of an answer from outside the service
	maxDetail = 300       // characters of a schema's complaint about them
	maxQuoted = 200       // characters of a name or a path
)

// Action is a server action. Its functions must be safe for concurrent use.
type Action struct {
	Name string
	// Schema is the JSON schema of the data, an object.
	Schema json.RawMessage
	// Check returns what is wrong with data that fits Schema; nil checks
	// nothing.
	Check func(data json.RawMessage) error
	// Offered reports whether this user may do it on a page with this context
	// object; nil offers it to everybody.
	Offered func(ctx context.Context, user schemas.User, page schemas.Object) bool
	// Allow returns why this user cannot do it now, without doing it; nil
	// allows it. The error has the code forbidden, or is schemas.ErrNotFound if
	// the user may not know that the thing exists.
	Allow func(ctx context.Context, call Call) error
	// Handle does it. The client sees the *schemas.Error in the error's tree.
	Handle func(ctx context.Context, call Call) (Outcome, error)
}

// Call is one click. A handler's Data fits the action's schema.
type Call struct {
	Action         string
	Data           json.RawMessage
	User           schemas.User
	ConversationID int64
	RunID          string
	Context        schemas.Object
	Page           Page
}

// Page is what the page of a click offers.
type Page struct {
	Name    string
	Actions []schemas.Action // that the page declares
	Own     []turn.Tool      // the handlers of the actions that its file declares
	// Known reports whether some page declares the action; nil means that none
	// does.
	Known func(action string) bool
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
			err = errors.New("two actions have this name")
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

// Allow returns why the click cannot be done, without doing it. An action that
// the page does not offer, or that the user may not do, is an error of code
// forbidden; an unknown one and data that does not fit are errors of code
// invalid. Absent data counts as {}.
func (a *Actions) Allow(ctx context.Context, call Call) error {
	action, call, err := a.find(call)
	if err != nil || action.Allow == nil {
		return err
	}
	return action.Allow(ctx, call)
}

// Offered returns the actions of a page that the user may do there.
func (a *Actions) Offered(ctx context.Context, user schemas.User, page schemas.Object, declared []schemas.Action) []schemas.Action {
	return slices.DeleteFunc(slices.Clone(declared), func(d schemas.Action) bool {
		offered := a.byName[d.Action].Offered
		return d.Handler == handlerServer && offered != nil && !offered(ctx, user, page)
	})
}

// handlerServer is the handler of the actions that this package does.
const handlerServer = "server"

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
	action, err := a.declared(&call)
	if err != nil {
		return action, call, err
	}
	if len(call.Data) == 0 || string(call.Data) == "null" {
		call.Data = json.RawMessage("{}")
	}
	if len(call.Data) > maxData {
		return action, call, invalid(dataPointer, fmt.Sprintf("has more than %d bytes", maxData))
	}
	var v any
	if err := json.Unmarshal(call.Data, &v); err != nil {
		return action, call, invalid(dataPointer, "is not valid JSON")
	}
	if action.schema != nil {
		if err := action.bounds.Allow(v); err != nil {
			return action, call, invalid(dataPointer, err.Error())
		}
		if err := action.schema.Validate(v); err != nil {
			return action, call, misfit(err)
		}
	}
	if action.Check != nil {
		return action, call, action.Check(call.Data)
	}
	return action, call, nil
}

// declared returns the handler of an action that the click's page declares.
func (a *Actions) declared(call *Call) (compiled, error) {
	page := &call.Page
	here := slices.ContainsFunc(page.Actions, func(d schemas.Action) bool { return d.Action == call.Action && d.Handler == handlerServer })
	if i := slices.IndexFunc(page.Own, func(t turn.Tool) bool { return t.Name == call.Action }); here && i >= 0 {
		return compiled{Action: own(page.Own[i])}, nil
	}
	action, ok := a.byName[call.Action]
	switch {
	case here && ok:
		return action, nil
	case slices.ContainsFunc(page.Actions, func(d schemas.Action) bool { return d.Action == call.Action }):
		return action, invalid("/action_metadata/action_identifier", "is an action that the page does itself; it is not sent to the service")
	case !ok && (page.Known == nil || !page.Known(call.Action)):
		return action, invalid("/action_metadata/action_identifier", "there is no such action")
	case page.Name == "":
		return action, schemas.NewError(schemas.CodeForbidden, "an action needs the page that offers it, and the request names none")
	}
	return action, schemas.NewError(schemas.CodeForbidden, "the page “"+text.Line(page.Name, maxQuoted)+"” does not offer the action “"+text.Line(call.Action, maxQuoted)+"” here")
}

// Fits returns why data do not fit an action that the page's file handles; absent data
// count as {}. The data of other actions are checked when they are done.
func (p *Page) Fits(action string, data json.RawMessage) error {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	for i := range p.Own {
		if p.Own[i].Name == action {
			return p.Own[i].Check(data)
		}
	}
	return nil
}

// own returns the action for one that a page file declares. The click is the
// user's approval.
func own(t turn.Tool) Action {
	return Action{
		Name: t.Name, Schema: t.InputSchema,
		Check: func(data json.RawMessage) error {
			if err := t.Check(data); err != nil {
				return refused(schemas.Misfit(dataPointer, err))
			}
			return nil
		},
		Handle: func(ctx context.Context, call Call) (Outcome, error) {
			if t.Timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errLate)
				defer cancel()
			}
			result, err := t.Run(ctx, &turn.Call{
				Name: t.Name, Input: call.Data, User: call.User, ConversationID: call.ConversationID, RunID: call.RunID, Context: call.Context,
			})
			if err != nil && errors.Is(context.Cause(ctx), errLate) && !errors.Is(err, errLate) {
				err = errLate
			}
			switch {
			case err != nil:
				return Outcome{}, quoted(err)
			case result.IsError:
				return Outcome{}, schemas.NewError(schemas.CodeUpstreamError, outside(result.Text))
			}
			return Outcome{Text: outside(result.Text), Payload: result.Payload}, nil
		},
	}
}

// errLate is the cause with which the context of an action ends that is not done in time. A
// handler adds whether the action had an effect.
var errLate error = schemas.NewError(schemas.CodeUpstreamTimeout, "the action did not end in time")

// quoted returns an error of a handler, whose message may repeat text from outside.
func quoted(err error) error {
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || !strings.Contains(seen.Message, text.ToolMarker) {
		return err
	}
	out := *seen
	out.Message = outside(seen.Message)
	return out.Because(err)
}

// outside returns text from outside the service as a part of an answer.
func outside(s string) string {
	return strings.ReplaceAll(text.Ellipsis(s, maxText), text.ToolMarker, text.EscapedMarker)
}

// undone are the codes of errors after which an action may be tried again: it was
// refused, its request was not sent, or may be repeated. Otherwise a request has the code
// effect_unknown.
var undone = []schemas.Code{
	schemas.CodeInvalid, schemas.CodeForbidden, schemas.CodeNotFound, schemas.CodeConflict,
	schemas.CodeUpstreamUnavailable, schemas.CodeUpstreamTimeout, schemas.CodeUpstreamError,
}

// Undone reports whether an error of Run means that the action may be tried again.
func Undone(err error) bool {
	e, ok := errors.AsType[*schemas.Error](err)
	return ok && slices.Contains(undone, e.Code)
}

const dataPointer = "/action_metadata/action_data"

// misfit returns the error for data that do not fit their schema.
func misfit(err error) error {
	keys, detail := jsonlimit.Misfit(err)
	pointer := []string{dataPointer}
	for _, key := range keys {
		if key == "" {
			break
		}
		pointer = append(pointer, jsonlimit.Escape(key))
	}
	return invalid(strings.Join(pointer, "/"), detail)
}

func invalid(pointer, detail string) error { return refused(schemas.Invalid(pointer, detail)) }

func refused(e *schemas.Error) error {
	e.Message = "the action cannot be done as requested"
	for i := range e.Fields {
		e.Fields[i].Detail = text.Line(e.Fields[i].Detail, maxDetail)
	}
	return e
}
