// Package storetest is the contract of package store: one suite that every
// database passes, and one benchmark of the path that all runs share.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// Run runs the suite on a kind of database. empty returns the url of an empty database, made
// that of one with all tables; both are dropped at the end of the test.
func Run(t *testing.T, empty, made func(t testing.TB) string) {
	shared := open(t, made(t))
	for name, test := range sharedTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, shared))
		})
	}
	for name, test := range ownTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, made(t))
		})
	}
	for name, test := range emptyTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, empty(t))
		})
	}
}

// sharedTests share a database; each has an owner of its own.
var sharedTests = map[string]func(f *fixture){
	"begin makes a chat":                         testBeginMakesChat,
	"begin finds the chat":                       testBeginFindsChat,
	"begin in another user's chat":               testBeginForeign,
	"begin stores the history of a new chat":     testBeginHistory,
	"begin twice for one new key":                testBeginTwiceNewKey,
	"begin in a busy chat":                       testBeginBusy,
	"begin in a busy chat what was replaced":     testBeginBusyReplaced,
	"begin under a used idempotency key":         testBeginDuplicate,
	"begin repeated":                             testBeginRepeated,
	"begin with attachments":                     testBeginAttachments,
	"begin refuses identifiers with NUL":         testBeginIdentifiers,
	"begin keeps the answer's id":                testReserve,
	"begin keeps the message's id":               testNamedMessage,
	"unlisted chats":                             testUnlisted,
	"an id that no answer has got is free again": testReserveFreed,
	"an answer is generated again under its id":  testReserveAgain,
	"an answer with several ids":                 testReserveAliases,
	"one of an answer's ids is generated again":  testReserveOfSeveral,
	"an answer that brings nothing":              testReserveRestored,
	"answers are generated again in the queue":   testReserveQueued,
	"an id that another chat has got":            testReserveLost,
	"a question is answered again in the queue":  testRegenerateQueued,
	"edit and regenerate supersede":              testSupersede,
	"generated again for nothing":                testAgainForNothing,
	"supersede of what is not there":             testSupersedeUnknown,
	"several replace one message":                testSupersedeAtOnce,
	"a message is replaced within a commit":      testSupersedeInOneCommit,
	"versions of a question":                     testVersions,
	"versions of an answer":                      testAnswerVersions,
	"versions within versions":                   testNestedVersions,
	"versions of a chat at work":                 testVersionsBusy,
	"versions in the queue":                      testVersionsQueued,
	"a question replaced in the queue":           testReplacedQueued,
	"answers in any order":                       testAnswerModel,
	"a run from begin to finish":                 testWholeRun,
	"a run in one write":                         testWholeRunOneWrite,
	"a failed run keeps its error":               testFailedRun,
	"fences":                                     testFences,
	"finish repeated":                            testFinishRepeated,
	"a write after the end, repeated":            testAfterTheEndRepeated,
	"events of an earlier attempt are kept":      testEarlierAttemptKept,
	"the time of a chat never goes back":         testChatTime,
	"a decision is opened again":                 testReopenPayload,
	"a commit for runs of two replicas":          testCommitOfTwoReplicas,
	"one bad write":                              testOneBadWrite,
	"commit with a context that has ended":       testCommitCancelled,
	"reads of a context that has ended":          testReadCancelled,
	"commit of nothing":                          testCommitNothing,
	"checkpoints":                                testCheckpoints,
	"tool calls":                                 testToolCalls,
	"long tool output":                           testLongOutput,
	"trace":                                      testTrace,
	"run by key":                                 testRunByKey,
	"fences of a context":                        testContextFence,
	"the queue is in order of place":             testPlace,
	"runs of another replica":                    testForeignAttempt,
	"queue":                                      testQueue,
	"the order of a chat with a queue":           testOrder,
	"the order as an answer is generated again":  testOrderAgain,
	"the order as a later one waits":             testOrderAgainAtOnce,
	"the order of runs out of turn":              testOrderOutOfTurn,
	"the order as a cancelled one is answered":   testOrderOfRetry,
	"the summary as a cancelled one is answered": testSummaryOfRetry,
	"attempts of a recovered run":                testBeginRecovered,
	"request cancel":                             testRequestCancel,
	"calls that wait":                            testWaits,
	"answers to several calls at once":           testWaitsAnsweredTogether,
	"calls that wait in a recovered run":         testWaitsRecovered,
	"calls that wait in a run that has ended":    testWaitsEnded,
	"runs that are not there":                    testUnknownRun,
	"chats in pages":                             testChatPages,
	"chats searched":                             testChatSearch,
	"chats searched, by page":                    testChatSearchPages,
	"chats of one owner":                         testChatOwners,
	"active run":                                 testActiveRun,
	"pinned and archived chats":                  testPinArchive,
	"usage of a chat":                            testChatUsage,
	"rename and delete":                          testRenameDelete,
	"delete with everything":                     testDeleteAll,
	"bad cursors":                                testBadCursors,
	"messages in pages":                          testMessagePages,
	"message with everything":                    testMessageWhole,
	"the tool history as custom payload":         testCustomPayloadHistory,
	"feedback":                                   testFeedback,
	"rated answers":                              testRatedAnswers,
	"payloads":                                   testPayloads,
	"payloads in the order of their message":     testPayloadOrder,
	"payload id of another run":                  testPayloadCollision,
	"summary":                                    testSummary,
	"everything of another user is not found":    testOwnership,
	"usage":                     testUsage,
	"usage is counted once":     testUsageOnce,
	"usage of many at once":     testUsageAtOnce,
	"text":                      testText,
	"large content":             testLargeContent,
	"many goroutines":           testConcurrent,
	"one chat, many goroutines": testConcurrentOneChat,
}

// emptyTests have an empty database each.
var emptyTests = map[string]func(t *testing.T, url string){
	"migrations":       testMigrations,
	"migrated at once": testMigratedAtOnce,
}

// ownTests have a database each.
var ownTests = map[string]func(t *testing.T, url string){
	"a full queue":           testQueueFull,
	"closed":                 testClosed,
	"ping":                   testPing,
	"segments":               testSegments,
	"runs are taken":         testTake,
	"what runs have left":    testLeft,
	"many take at once":      testTakeAtOnce,
	"nobody is read":         testTakeEverything,
	"journal":                testJournal,
	"import":                 testImport,
	"bad imports":            testBadImports,
	"late bad import":        testLateBadImport,
	"many bad lines":         testManyBadLines,
	"import in parts":        testImportInParts,
	"import interrupted":     testImportInterrupted,
	"import changed":         testImportChanged,
	"import from sources":    testImportSources,
	"research":               testResearch,
	"update stream":          testUpdateStream,
	"search articles":        testSearch,
	"hostile searches":       testHostileSearch,
	"data of a user":         testUserData,
	"old logs":               testOldLogs,
	"log of the future":      testLogOfTheFuture,
	"logs of later runs":     testLogsOfLaterRuns,
	"logs after an open run": testLogsAfterOpenRun,
	"old chats":              testOldChats,
	"mcp tools":              testMCPTools,
	"many mcp tools":         testMCPToolsBounded,
	"runs of all users":      testAdminRuns,
	"rare runs of all":       testAdminLooks,
	"owners of attempts":     testAdminAttempts,
	"totals of all users":    testAdminStats,
}

// patience is how long a read may take on a busy machine.
const patience = time.Minute

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{ReadTimeout: patience}})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// start is the time of the tests; the databases keep microseconds.
var start = time.Date(2026, 11, 21, 10, 30, 0, 123456000, time.UTC)

// fixture is a store with one owner.
type fixture struct {
	testing.TB
	ctx   context.Context //nolint:containedctx // of the test
	store *store.Store
	owner string
	clock time.Time
}

func newFixture(t testing.TB, s *store.Store) *fixture {
	return &fixture{TB: t, ctx: t.Context(), store: s, owner: "https://issuer|" + newID(), clock: start}
}

// anotherUser returns the fixture for another owner.
func (f *fixture) anotherUser() *fixture {
	other := *f
	other.owner = "https://issuer|" + newID()
	return &other
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// now returns a time that is a second later each time.
func (f *fixture) now() time.Time {
	f.clock = f.clock.Add(time.Second)
	return f.clock
}

// begin makes the write that begins a run for a message; with changes it.
func (f *fixture) begin(text string, with ...func(g *record.Begin)) *record.Write {
	at := f.now()
	g := &record.Begin{
		Run: record.Run{
			ID: newID(), Owner: schemas.User{ID: f.owner, Name: "Ann", Roles: []string{"user"}}, Request: json.RawMessage(`{"message":"hi"}`),
			UserMessageID: newID(), MessageID: newID(), CreatedAt: at,
		},
		Title: "About " + text,
	}
	g.UserMessage = &record.UserMessage{Message: schemas.Message{
		ID: g.Run.UserMessageID, Role: "user", Type: "md", Content: text, Status: schemas.MessageComplete, CreatedAt: at,
	}}
	for _, change := range with {
		change(g)
	}
	return &record.Write{RunID: g.Run.ID, Attempt: 1, Begin: g}
}

// in returns a change that puts a Begin into a chat.
func in(chat int64) func(*record.Begin) { return func(g *record.Begin) { g.ConversationID = chat } }

func key(k string) func(*record.Begin) { return func(g *record.Begin) { g.ChatKey = k } }

func queued(g *record.Begin) { g.Queue = true }

// finish makes the write that completes a begun run with an answer.
func (f *fixture) finish(begun *record.Write, text string) *record.Write {
	at := f.now()
	run := begun.Begin.Run
	return &record.Write{RunID: run.ID, Attempt: 1, Finish: &record.Finish{
		State: schemas.RunCompleted, StopReason: schemas.EndTurn, Usage: schemas.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7},
		Message: &schemas.Message{
			ID: run.MessageID, Role: "assistant", Type: "md", Content: text, Status: schemas.MessageComplete, CreatedAt: at, RunID: run.ID,
			StopReason: schemas.EndTurn,
		},
		Log: log(segment(1, 9, "the log of "+run.ID)), LastSeq: 9, Trace: json.RawMessage(`{"model":"m"}`), EndedAt: at,
	}}
}

// commit commits and fails the test on an error of Commit.
func (f *fixture) commit(writes ...*record.Write) {
	f.Helper()
	if err := f.store.Commit(f.ctx, writes); err != nil {
		f.Fatalf("commit: %v", err)
	}
}

// mustCommit also fails the test on an Err.
func (f *fixture) mustCommit(writes ...*record.Write) {
	f.Helper()
	f.commit(writes...)
	for i, w := range writes {
		if w.Err != nil {
			f.Fatalf("write %d: %v", i, w.Err)
		}
	}
}

// turn stores a question and its answer and returns the Begin.
func (f *fixture) turn(question, answer string, with ...func(*record.Begin)) *record.Begin {
	f.Helper()
	w := f.begin(question, with...)
	f.mustCommit(w)
	f.mustCommit(f.finish(w, answer))
	return w.Begin
}

// messages returns the texts of a chat's newest messages.
func (f *fixture) messages(chat int64, superseded bool) []string {
	f.Helper()
	all, _, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{Superseded: superseded})
	must(f, err)
	var texts []string
	for _, m := range all {
		text := m.Content
		if m.Status == schemas.MessageSuperseded {
			text = "-" + text
		}
		texts = append(texts, text)
	}
	return texts
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares what a test got with what it wants.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// fails checks that err has target in its tree.
func fails(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want %v", what, err, target)
	}
}

// failsWith checks the code that a client would see.
func failsWith(t testing.TB, what string, err error, code schemas.Code) {
	t.Helper()
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || seen.Code != code {
		t.Errorf("%s: got error %v, want code %s", what, err, code)
	}
}

func long(part string, n int) string { return strings.Repeat(part, n/len(part)+1)[:n] }

func payload(id, kind, data string) schemas.CustomPayload {
	return schemas.CustomPayload{PayloadID: id, Type: kind, Data: json.RawMessage(data), Summary: fmt.Sprintf("a %s", kind), Source: "tool"}
}
