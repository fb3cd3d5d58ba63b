package runs

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/questions"
)

// shared are claims of runs. Before one is dropped, the turn of its run comes.
type shared struct {
	documents.Claims
	run  string
	turn func()
	late chan struct{} // closed when the database drops them
}

func (s *shared) TakeClaim(_ context.Context, c record.Claim, _ string, _ bool) (string, bool, error) {
	s.run = c.Run
	return "", false, nil
}

func (s *shared) DropClaims(context.Context, string, string, int) error {
	go s.turn()
	<-s.late
	s.run = ""
	return nil
}

// A question is stored as queued, and its turn comes at once. It holds the block that it
// writes: what it had claimed for the case that it is not queued is released before.
func TestTheTurnOfANewQueuedRun(t *testing.T) {
	drafts, claims := documents.New(nil, nil, nil, nil, nil), new(shared)
	drafts.Share(claims, func() string { return "me" })
	c := new(chat)
	inRuns(t, Options{Options: prepare.Options{Drafts: drafts}, Store: Stores{Queue: c, Runs: ended{new(memory)}}}, func(t *testing.T, r *Runs, _ *memory) {
		c.next = func() (record.Run, error) { return record.Run{ID: "r"}, nil }
		began := make(chan struct{})
		defer synctest.Wait()
		defer close(began)
		c.begin = func() error { <-began; return record.ErrFenced }
		claims.late = make(chan struct{})
		claims.turn = func() { here{r}.Turn(t.Context(), "r") }
		claim := documents.Claim{Run: "r", Owner: ann.ID, Document: "doc", Blocks: []string{"block"}}
		q := &questions.Question{Begin: &record.Begin{Run: record.Run{ID: "r", Owner: ann}}, Request: new(schemas.ChatRequest), Claim: claim}
		if holder, err := r.claim(t.Context(), claim); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		q.State = schemas.RunQueued
		r.beginning.Add("r")
		go r.launch(t.Context(), q, r.leases.Current(), func() {})
		synctest.Wait()
		close(claims.late)
		synctest.Wait()
		if claims.run != "r" {
			t.Error("the run begins without what it has claimed")
		}
	})
}

// An attempt that another process has fenced off ends late: the run has come back here, as a
// later attempt, which holds what it claims.
func TestAnAttemptThatEndsAfterALaterOneHasBegun(t *testing.T) {
	drafts := documents.New(nil, nil, nil, nil, nil)
	inRuns(t, Options{Options: prepare.Options{Drafts: drafts}}, func(t *testing.T, r *Runs, _ *memory) {
		claim := documents.Claim{Run: "r", Owner: ann.ID, Document: "doc", Blocks: []string{"block"}}
		other := claim
		other.Run = "other"
		first := r.reads(t, "r", 1)
		r.forget(first)
		if holder, err := r.claim(t.Context(), claim); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		second := r.reads(t, "r", 3)
		first.log.Close()
		r.ended(first)
		if holder := drafts.Holder(other); holder != "r" {
			t.Errorf("%q holds the block of the later attempt", holder)
		}
		second.log.Close()
		r.ended(second)
		if holder := drafts.Holder(other); holder != "" {
			t.Errorf("%q holds the block after the later attempt, want nobody", holder)
		}
	})
}

// elsewhere are the runs of another process, which claims a block and then stores its run.
type elsewhere struct {
	*memory
	acts.Open
	first  record.Run
	stored <-chan struct{}
	looks  int
}

func (e *elsewhere) find(found bool) (record.Run, error) {
	select {
	case <-e.stored:
		if found {
			return e.first, nil
		}
	default:
	}
	return record.Run{}, schemas.ErrNotFound
}

func (e *elsewhere) CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error) {
	return e.memory.CancelRequested(ctx, replica, idle)
}

func (*elsewhere) Turns(context.Context, string) ([]string, error) { return nil, nil }

func (e *elsewhere) Run(_ context.Context, id string) (record.Run, error) {
	e.looks++
	return e.find(id == e.first.ID)
}

func (e *elsewhere) RunByKey(_ context.Context, _, key string) (record.Run, error) {
	return e.find(key == e.first.IdempotencyKey)
}

func (e *elsewhere) RunByMessage(_ context.Context, _, message string) (record.Run, error) {
	return e.find(message == e.first.UserMessageID)
}

// taken are claims that another run holds.
type taken struct {
	documents.Claims
	holder string
}

func (t taken) TakeClaim(context.Context, record.Claim, string, bool) (string, bool, error) {
	return t.holder, false, nil
}

func (taken) DropClaims(context.Context, string, string, int) error { return nil }

// A request comes to a second process while the first one has claimed what its answer writes,
// and has not stored the run. It is the same run, and is not cancelled for itself; any other
// request is refused, with the run that it can wait for.
func TestTheSameRequestWhileItsRunIsBeingStored(t *testing.T) {
	const later = time.Second
	for name, tt := range map[string]struct {
		body, key string
		never     bool // the first process dies
		refused   string
	}{
		"key":             {body: `{"message":"m"}`, key: "k"},
		"key, cancels":    {body: `{"message":"m","if_busy":"cancel"}`, key: "k"},
		"message":         {body: `{"message":"m","message_id":"a"}`},
		"another key":     {body: `{"message":"m"}`, key: "other", refused: "busy: another answer is writing here"},
		"another message": {body: `{"message":"m","message_id":"b"}`, refused: "busy: another answer is writing here"},
		"its message":     {body: `{"message":"n","message_id":"a"}`, refused: schemas.ErrTaken.Error()},
		"never stored":    {body: `{"message":"m","if_busy":"cancel"}`, key: "k", never: true, refused: "busy: another answer is writing here"},
	} {
		t.Run(name, func(t *testing.T) {
			drafts, store := documents.New(nil, nil, nil, nil, nil), &elsewhere{memory: new(memory)}
			drafts.Share(taken{holder: "first"}, func() string { return "me" })
			table := &leaving{asked: func() {}}
			o := Options{
				Options: prepare.Options{Drafts: drafts}, Store: Stores{Runs: store}, Acts: acts.Stores{Open: store},
				Leases: leases.Options{Table: table, Takeover: table, Many: true},
			}
			inRuns(t, o, func(t *testing.T, r *Runs, _ *memory) {
				stored := make(chan struct{})
				if store.stored = stored; !tt.never {
					time.AfterFunc(later, func() { close(stored) })
				}
				store.first = record.Run{ID: "first", Owner: ann, State: schemas.RunRunning, IdempotencyKey: "k", UserMessageID: "a", Request: []byte(`{"message":"m","message_id":"a"}`)}
				req := new(schemas.ChatRequest)
				if err := json.Unmarshal([]byte(tt.body), req); err != nil {
					t.Fatal(err)
				}
				b := &record.Begin{Run: record.Run{ID: "second", Owner: ann, IdempotencyKey: tt.key}, UserMessage: &record.UserMessage{Message: schemas.Message{ID: req.MessageID}}, Named: req.MessageID != ""}
				q := &questions.Question{Begin: b, Request: req, Cancels: req.IfBusy == "cancel", Claim: documents.Claim{Run: "second", Owner: ann.ID, Document: "doc", Blocks: []string{"block"}}}
				began := time.Now()
				got, err := r.begin(t.Context(), q, record.StartOptions{IdempotencyKey: tt.key}, func() {})
				if tt.refused != "" {
					if err == nil || err.Error() != tt.refused {
						t.Fatalf("got %+v, %v, want it refused: %s", got, err, tt.refused)
					}
				} else if err != nil || got.RunID != "first" {
					t.Fatalf("got %+v, %v, want the run that is being stored", got, err)
				}
				if requests := store.requests(); len(requests) > 0 {
					t.Errorf("%q were cancelled, want none", requests)
				}
				if took := time.Since(began); took < later || took > busyWait+later || store.looks > int(busyWait/claimEvery)+2 {
					t.Errorf("it has looked %d times in %s", store.looks, took)
				}
			})
		})
	}
}

// A request without a message_id is sent again while its run answers, and would cancel or wait
// for what its chat is doing: that is its own run.
func TestTheSameRequestWithAnotherIfBusy(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		asks := func(text, ifBusy string) *questions.Question {
			req := &schemas.ChatRequest{Message: text, IfBusy: ifBusy}
			return &questions.Question{Begin: &record.Begin{Run: record.Run{Owner: ann, MessageID: "answer"}, Reserve: true}, Request: req}
		}
		run := newRun(&record.Run{ID: "r", Owner: ann, MessageID: "answer"}, r.leases.Current(), func() {})
		run.take(light(asks("m", "reject").Request), documents.Claim{})
		r.enlist(t.Context(), run, 1)
		for _, ifBusy := range []string{"", "queue", "cancel"} {
			if got := r.answering(asks("m", ifBusy)); got != run {
				t.Errorf("with if_busy %q it is %v, want its run", ifBusy, got)
			}
		}
		if got := r.answering(asks("n", "reject")); got != nil {
			t.Errorf("another request is run %s", got.ID)
		}
	})
}
