// Package tools has the tools that a model may call: how a Go function becomes
// a tool, which tools exist and who is offered them, and the built-in ones.
//
// It does not run calls: the loop in package agents runs them, with timeouts,
// and uses the results. All outgoing requests go through tools/outbound.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Call is the argument of a tool's function.
type Call = turn.Call

// Result is what a tool's function returns.
type Result = turn.Result

// Option sets a property of a tool.
type Option func(*definition)

// definition is a tool that is being defined.
type definition struct {
	tool   turn.Tool
	refine []func(*jsonschema.Schema)
}

// Words are the texts that users read about a call: title while it runs, done
// afterwards; see turn.Words.
func Words(title, done string) Option {
	return func(d *definition) { d.tool.Words = turn.Words{Title: title, Done: done} }
}

// Global offers the tool on every page.
func Global() Option { return func(d *definition) { d.tool.Global = true } }

// Idempotent declares that the tool may run again when its outcome is unknown.
func Idempotent() Option { return func(d *definition) { d.tool.Idempotent = true } }

// ReadOnly declares that the tool changes nothing, so it may also run again.
func ReadOnly() Option {
	return func(d *definition) { d.tool.ReadOnly, d.tool.Idempotent = true, true }
}

// Serial makes the tool run alone.
func Serial() Option { return func(d *definition) { d.tool.Serial = true } }

// Document declares that the tool writes the document of the turn.
func Document() Option { return func(d *definition) { d.tool.Document = true } }

// Replans declares that the tool replaces the blocks of the document.
func Replans() Option { return func(d *definition) { d.tool.Replans = true } }

// Streams shows an argument while the model writes it.
func Streams(a turn.StreamedArgument) Option {
	return func(d *definition) { d.tool.Streams = &a }
}

// Confirm makes each call wait for the user's approval.
func Confirm() Option { return func(d *definition) { d.tool.Confirm = true } }

// Effects declares that calls change something.
func Effects() Option { return func(d *definition) { d.tool.Effects = true } }

// Untrusted declares that outsiders wrote what the tool returns.
func Untrusted() Option { return func(d *definition) { d.tool.Untrusted = true } }

// Retold declares that a model may have written what the tool returns.
func Retold() Option { return func(d *definition) { d.tool.Retold = true } }

// Addresses sets the function that returns the URLs in an input that a call
// sends out, as keys of weburl.Key; weburl.SentIn returns all of them. Without it calls send none.
func Addresses(of func(input json.RawMessage) []string) Option {
	return func(d *definition) { d.tool.Addresses = of }
}

// InChat declares that the tool works on the chat that calls it: it is not
// offered outside chats, for example at /mcp.
func InChat() Option { return func(d *definition) { d.tool.InChat = true } }

// Timeout bounds one call.
func Timeout(t time.Duration) Option { return func(d *definition) { d.tool.Timeout = t } }

// PayloadType names the type of the payload that the tool makes.
func PayloadType(name string) Option { return func(d *definition) { d.tool.PayloadType = name } }

// Roles restricts the tool to users who have one of the roles.
func Roles(roles ...string) Option { return func(d *definition) { d.tool.Roles = roles } }

// Refine changes the inferred schema before it is compiled, for rules that a Go
// type cannot express: limits, enumerations.
func Refine(change func(*jsonschema.Schema)) Option {
	return func(d *definition) { d.refine = append(d.refine, change) }
}

// New makes a tool from fn. The schema of its arguments is inferred from In, a
// struct: names from the json tags, descriptions from the jsonschema tags,
// every field without omitempty or omitzero required, no others allowed, null
// only for a field that may be absent. It is compiled once; fn gets only arguments
// that fit.
//
// New does not fail: NewRegistry refuses a tool that cannot be made.
func New[In any](name, description string, fn func(context.Context, *Call, In) (Result, error), opts ...Option) turn.Tool {
	d := define(name, description, opts)
	if fn == nil {
		return d.broken(errNoFunction)
	}
	args, err := inferred[In](d.refine)
	if err != nil {
		return d.broken(err)
	}
	return d.finish(args, func(ctx context.Context, call *Call) (Result, error) {
		var in In
		if err := decode(call.Input, &in); err != nil {
			return Result{}, err
		}
		return fn(ctx, call, in)
	})
}

// NewText is like New, for a function whose result is only text.
func NewText[In any](name, description string, fn func(context.Context, *Call, In) (string, error), opts ...Option) turn.Tool {
	if fn == nil {
		return New[In](name, description, nil, opts...)
	}
	return New(name, description, func(ctx context.Context, call *Call, in In) (Result, error) {
		text, err := fn(ctx, call, in)
		return Text(text), err
	}, opts...)
}

// NewRaw makes a tool whose arguments are described by a JSON schema that the
// operator wrote; fn reads call.Input, which fits it. The schema has to keep
// the limits of jsonlimit.Read. Arguments that would take too long to check are
// refused.
func NewRaw(name, description string, schema json.RawMessage, fn func(context.Context, *Call) (Result, error), opts ...Option) turn.Tool {
	d, s, err := declare(name, description, schema, fn, opts)
	if err != nil {
		return d.broken(err)
	}
	args, err := compile(s)
	if err != nil {
		return d.broken(err)
	}
	return d.finish(args, fn)
}

// NewForeign makes a tool for another server, which checks the arguments: here
// they only have to be an object. A schema from outside is measured
// (jsonlimit.Measure) and sent to the model, but never used for checks.
func NewForeign(name, description string, schema json.RawMessage, fn func(context.Context, *Call) (Result, error), opts ...Option) turn.Tool {
	d, s, err := declare(name, description, schema, fn, opts)
	if err != nil {
		return d.broken(err)
	}
	raw, err := encoded(s)
	if err != nil {
		return d.broken(err)
	}
	t := d.tool
	t.InputSchema, t.Check, t.Run = raw, isObject, fn
	return t
}

// declare reads the schema of a tool whose arguments are described by one.
func declare(name, description string, schema json.RawMessage, fn func(context.Context, *Call) (Result, error), opts []Option) (*definition, *jsonschema.Schema, error) {
	d := define(name, description, opts)
	if fn == nil {
		return d, nil, errNoFunction
	}
	s, err := read(schema)
	return d, s, err
}

// Text returns a result that only the model sees.
func Text(s string) Result { return Result{Text: s} }

// WithPayload returns a result with a payload of that type for the page. The
// data is a value of one of this service's types; data that cannot be encoded
// is an internal error.
func WithPayload(text, payloadType string, data any) (Result, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: text, Payload: &turn.Payload{Type: payloadType, Data: raw}}, nil
}

// Invalid returns the error for arguments that fit the schema but cannot be
// used. The model reads the message.
func Invalid(message string) error { return schemas.NewError(schemas.CodeInvalid, message) }

var errNoFunction = errors.New("it has no function")

func define(name, description string, opts []Option) *definition {
	d := &definition{tool: turn.Tool{Name: name, Description: description}}
	for _, o := range opts {
		o(d)
	}
	return d
}

// broken returns a tool without Run, whose Check returns err for NewRegistry.
func (d *definition) broken(err error) turn.Tool {
	t := d.tool
	t.Run, t.Check = nil, func(json.RawMessage) error { return err }
	return t
}

func (d *definition) finish(args *arguments, run func(context.Context, *Call) (Result, error)) turn.Tool {
	t := d.tool
	t.InputSchema, t.Check, t.Run = args.raw, args.check, run
	return t
}
