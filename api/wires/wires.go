// Package wires has what all wires share. A wire is a protocol that another project
// defines, so that its clients work unmodified. A wire adds no behaviour: it translates
// requests into chat requests, and the events of a run's log into frames. This package
// imports no wire; a wire imports only this package and schemas.
package wires

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// Wire is one wire, as api mounts it.
type Wire struct {
	Name   string
	Routes []Route
	// Paths are the paths below which all is the wire's: an error there has its form, also
	// where no route is. Wires with the same path have the same form.
	Paths []string
	// Fail answers a request with an error in the wire's own form; nothing has been sent.
	Fail func(w http.ResponseWriter, status int, e *schemas.Error)
	// Tables are the wire's tables, by the versions of its clients, the newest first.
	Tables []Version
}

// Sentence returns the message of an error together with what is wrong in the body, for
// clients that show only one text.
func Sentence(e *schemas.Error) string {
	var parts []string
	for _, f := range e.Fields {
		parts = append(parts, f.Pointer+" "+f.Detail)
	}
	if len(parts) == 0 {
		return e.Message
	}
	return e.Message + ": " + strings.Join(parts, "; ")
}

// Version is a table for clients of a version.
type Version struct {
	Name  string
	Table func(p Params) Table
}

// Route is one route of a wire. Path has its parameters as ":name".
type Route struct {
	Method, Path string
	// Body says that the request has a body of JSON, Files that the body may hold files: it
	// may then be larger. Optional says that the body may be absent.
	Body, Files, Optional bool
	// Starts says that the request starts a run; it counts as one, whatever comes of it.
	Starts bool
	// Stream says that the answer may last as long as a run.
	Stream bool
	Handle func(c *Call) error
}

// Call is one request of a user.
type Call struct {
	*http.Request // its context ends with the user's identity

	Response http.ResponseWriter
	User     schemas.User
	Body     []byte
	// Param returns a parameter of the path.
	Param   func(name string) string
	Service *Service
	// Key is used if the request has no Idempotency-Key; KeyBody then stands for the body.
	Key, KeyBody string
	// Behind says that the message comes after the chat's run, which goes on: the request
	// has just answered what it waited for. The run is neither cancelled nor followed.
	Behind bool
	// Done releases the body, which is not used any more; an answer may last.
	Done func()
	// Large waits until no other answer with stored text of any length is being made for
	// the user. It is called before such text is read.
	Large func() error
	// Made says how many bytes such text has that the request keeps until it ends, for an
	// answer that is a stream.
	Made func(bytes int)
	// Count counts the request as one that starts a run, on a route that does not for all.
	Count func() error
	// Send answers with a whole body of JSON, which counts until the client has read it.
	Send func(body []byte) error
}

// Respond answers with JSON.
func (c *Call) Respond(v any) error { return c.Send(append(schemas.Encode(v), '\n')) }

// Service is what wires call.
type Service struct {
	Runs  Runs
	Chats Chats
	// Pages are the pages of the application, Models the models that a request may name,
	// the default first.
	Pages  func() []schemas.Page
	Models []schemas.ModelOffer
	// Check returns the error for a request that does not keep the rules of a chat request.
	Check func(req *schemas.ChatRequest) error
	// Stream opens the body of an answer that lasts. It counts as one of the user's
	// streams until it is closed.
	Stream func(c *Call) (Stream, error)
	// KeepAlive is the silence after which a stream sends a comment.
	KeepAlive time.Duration

	placing concurrent.Locks // chats in which the place of a message is being found
	reading concurrent.Locks // users of whom Current reads a chat
}

// Runs starts, follows and answers runs. Each call checks the owner: anything
// unknown or owned by another user is schemas.ErrNotFound.
type Runs interface {
	Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error)
	// Follow returns the events after the cursor, and then live ones to the end; an empty
	// batch for each idle period. runlog.ErrInterrupted ends the events of a run that
	// continues later.
	Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error)
	// Future reports whether a cursor is so far past the newest event of an unfinished
	// run that no reader can have seen that event (runlog.Future).
	Future(ctx context.Context, user schemas.User, id string, after int64) (bool, error)
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// ByKey returns the run that an Idempotency-Key started.
	ByKey(ctx context.Context, user schemas.User, key string) (schemas.Run, error)
	Cancel(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Leave ends the run at once if it ends with its last reader and has none.
	Leave(user schemas.User, id string)
	// Waits returns the calls of the run that wait or have waited.
	Waits(ctx context.Context, user schemas.User, id string) ([]schemas.Wait, error)
	// Answer answers calls at one moment: another reader sees all of the answers or none.
	// It says for each why the call does not have that answer.
	Answer(ctx context.Context, user schemas.User, run string, answers []record.CallAnswer) ([]error, error)
}

// Chats reads conversations, of the user only.
type Chats interface {
	List(ctx context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error)
	// ByKey returns the chat under the client's key, without messages.
	ByKey(ctx context.Context, user schemas.User, key string) (schemas.Chat, error)
	Get(ctx context.Context, user schemas.User, conversationID int64, q record.MessageQuery) (schemas.Chat, error)
	// Versions returns the versions of a message of the chat, also of one that was
	// replaced.
	Versions(ctx context.Context, user schemas.User, conversationID int64, messageID string) (schemas.VersionList, error)
}

// Stream is the body of an answer that lasts.
type Stream interface {
	// Context ends when the client has gone or the user's identity has expired.
	Context() context.Context
	// Write writes frames and flushes them; false means that the stream is over.
	Write(frames []byte) bool
	Close()
}
