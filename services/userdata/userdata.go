// Package userdata counts, exports and deletes all the data of one user.
package userdata

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
)

// pageSize is how many chats, messages, runs or documents are read at once.
const pageSize = 100

// Chats reads chats with their messages.
type Chats interface {
	// ChatsAfter returns chats in the order of their ids.
	ChatsAfter(ctx context.Context, owner string, id int64, limit int) ([]schemas.Chat, error)
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error)
	Files(ctx context.Context, owner string, id int64, messageID string) ([]schemas.Attachment, error)
	Summary(ctx context.Context, owner string, id int64) (record.Summary, error)
	Payload(ctx context.Context, owner string, id int64, payloadID string) (schemas.CustomPayload, error)
}

// Runs reads the runs of chats with their calls.
type Runs interface {
	// RunsOf returns runs in the order of their places.
	RunsOf(ctx context.Context, owner string, conversationID, place int64, limit int) ([]record.PlacedRun, error)
	ToolCalls(ctx context.Context, run string) ([]record.ToolCall, error)
	Waits(ctx context.Context, run string) ([]record.Wait, error)
}

// Totals counts, and deletes what is in no chat and no document.
type Totals interface {
	DataSize(ctx context.Context, owner string) (schemas.DataSize, error)
	// RecentRuns counts the owner's runs that have not ended, or not before a time.
	RecentRuns(ctx context.Context, owner string, since time.Time) (int64, error)
	Usage(ctx context.Context, owner, from, to string) ([]schemas.UsageItem, error)
	// BeginDeletion and ForgetUser note the beginning and the end of a deletion; each
	// changes the number of Deletions.
	BeginDeletion(ctx context.Context, owner string) error
	ForgetUser(ctx context.Context, owner, day string) error
	Deletions(ctx context.Context, owner string) (int64, error)
}

// Documents are the documents of users.
type Documents interface {
	List(ctx context.Context, user schemas.User, q record.DocumentQuery) (schemas.DocumentList, error)
	Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error)
	Versions(ctx context.Context, user schemas.User, id string) (schemas.DocumentVersionList, error)
	Version(ctx context.Context, user schemas.User, id string, revision int64) (schemas.Document, error)
	Delete(ctx context.Context, user schemas.User, id string, match record.Match) error
}

// Deleter deletes chats; it cancels their runs first.
type Deleter interface {
	Delete(ctx context.Context, user schemas.User, id int64) error
}

// UserData is the data of users. It is safe for concurrent use.
type UserData struct {
	chats     Chats
	runs      Runs
	totals    Totals
	documents Documents
	deleter   Deleter
	exports   concurrent.Locks // users whose data is exported
	deletions concurrent.Locks // users whose data is deleted
}

// New returns the data of users.
func New(chats Chats, runs Runs, totals Totals, documents Documents, deleter Deleter) *UserData {
	return &UserData{chats: chats, runs: runs, totals: totals, documents: documents, deleter: deleter}
}

// Size counts what is stored of a user.
func (u *UserData) Size(ctx context.Context, user schemas.User) (schemas.DataSize, error) {
	size, err := u.totals.DataSize(ctx, user.ID)
	size.Confirm = confirmOf(size)
	return size, err
}

// Known reports whether anything is stored of a user.
func (u *UserData) Known(ctx context.Context, user schemas.User) (bool, error) {
	size, err := u.totals.DataSize(ctx, user.ID)
	if err != nil || size != (schemas.DataSize{}) {
		return err == nil, err
	}
	for _, err := range u.usage(ctx, user.ID) {
		return err == nil, err
	}
	return false, nil
}

// Delete deletes everything of a user and returns how much it was. Running answers are
// cancelled first. The usage of the current day stays until it is over, because budgets
// count it. If more is stored than the user was told by confirm, and more than the answers
// of the last minutes can have added, nothing is deleted, and an error with the code
// conflict says how much would be deleted. If a deletion fails midway, the next one with the
// same confirm continues it. Delete waits for another deletion of the user for turnWait,
// then the error has the code busy.
func (u *UserData) Delete(ctx context.Context, user schemas.User, confirm string) (schemas.DataSize, error) {
	unlock, err := turn(ctx, &u.deletions, user.ID, errDeleting)
	if err != nil {
		return schemas.DataSize{}, err
	}
	defer unlock()
	size, err := u.Size(ctx, user)
	if err != nil {
		return size, err
	}
	holds, err := u.holds(ctx, user, confirm, size)
	if err != nil {
		return size, err
	}
	if !holds {
		return size, schemas.NewError(schemas.CodeConflict, Warning(size)+"; to do it, repeat the request with confirm="+size.Confirm)
	}
	if err := u.totals.BeginDeletion(ctx, user.ID); err != nil {
		return size, err
	}
	if err := u.deleteChats(ctx, user); err != nil {
		return size, err
	}
	if err := u.deleteDocuments(ctx, user); err != nil {
		return size, err
	}
	return size, u.totals.ForgetUser(ctx, user.ID, time.Now().UTC().Format(time.DateOnly))
}

// confirmTime is how long a confirm stays valid while answers begin and end.
const confirmTime = 10 * time.Minute

// holds reports whether the user was told of as much as is stored, except for what the
// recent answers can have added: a chat and a document for each, a question and its answer.
// Less may be stored, because a deletion has failed midway or another one came first.
func (u *UserData) holds(ctx context.Context, user schemas.User, confirm string, size schemas.DataSize) (bool, error) {
	if confirm == size.Confirm {
		return true, nil
	}
	var told schemas.DataSize
	if n, err := fmt.Sscanf(confirm, confirmFormat, &told.Chats, &told.Messages, &told.Documents); err != nil || n != 3 || confirm != confirmOf(told) || told == (schemas.DataSize{}) {
		return false, nil //nolint:nilerr // it is no confirm, or says that nothing is stored
	}
	answers, err := u.totals.RecentRuns(ctx, user.ID, time.Now().Add(-confirmTime))
	within := func(told, now, more int64) bool { return told >= 0 && now-told <= more }
	return within(told.Chats, size.Chats, answers) && within(told.Messages, size.Messages, 2*answers) && within(told.Documents, size.Documents, answers), err
}

const confirmFormat = "%d-%d-%d"

func confirmOf(size schemas.DataSize) string {
	return fmt.Sprintf(confirmFormat, size.Chats, size.Messages, size.Documents)
}

// Warning says how much a deletion deletes.
func Warning(size schemas.DataSize) string {
	return fmt.Sprintf("this deletes %s with %s and %s forever",
		count(size.Chats, "chat"), count(size.Messages, "message"), count(size.Documents, "document"))
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// deleteChats deletes the user's chats, also those that are made meanwhile.
func (u *UserData) deleteChats(ctx context.Context, user schemas.User) error {
	for {
		list, err := u.chats.ChatsAfter(ctx, user.ID, 0, pageSize)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := u.deleter.Delete(ctx, user, list[i].ConversationID); err != nil && !errors.Is(err, schemas.ErrNotFound) {
				return err
			}
		}
	}
}

// deleteDocuments deletes the user's documents, also those that are made meanwhile.
func (u *UserData) deleteDocuments(ctx context.Context, user schemas.User) error {
	for {
		list, err := u.documents.List(ctx, user, record.DocumentQuery{Limit: pageSize})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for i := range list.Items {
			if err := u.documents.Delete(ctx, user, list.Items[i].ID, nil); err != nil && !errors.Is(err, schemas.ErrNotFound) {
				return err
			}
		}
	}
}
