package actions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
)

var (
	owner = schemas.User{ID: "alice"}
	other = schemas.User{ID: "bob"}
	admin = schemas.User{ID: "root", Roles: []string{"admin"}}
)

// page declares apply_schema.
var page = actions.Page{Name: "edit_stream", Actions: []schemas.Action{{Action: "apply_schema", Handler: "server"}}}

var errForbidden = schemas.NewError(schemas.CodeForbidden, "")

// codeOf is the code of an error, "" of none.
func codeOf(err error) schemas.Code {
	if err == nil {
		return ""
	}
	return schemas.Visible(err).Code
}

// storedStreams is a store of streams. Updates are counted.
type storedStreams struct {
	byID    map[int64]schemas.Stream
	updates int
}

func (r *storedStreams) Stream(_ context.Context, id int64) (schemas.Stream, error) {
	s, ok := r.byID[id]
	if !ok {
		return s, schemas.ErrNotFound
	}
	return s, nil
}

func (r *storedStreams) UpdateStream(_ context.Context, id int64, change func(*schemas.Stream) error) (schemas.Stream, error) {
	s, err := r.Stream(context.Background(), id)
	if err != nil {
		return s, err
	}
	if err := change(&s); err != nil {
		return schemas.Stream{}, err
	}
	r.updates++
	r.byID[id] = s
	return s, nil
}

func testStreams() *storedStreams {
	return &storedStreams{byID: map[int64]schemas.Stream{
		1: {
			StreamID: 1, Name: "Gene editing", Owner: "alice",
			Schema: json.RawMessage("{\n \"topics\": {\"include\": [\"CRISPR\", \"<base> & prime\"]}, \"filters\": [{\"year\": 2020}], \"n\": 12345678901234567890\n}"),
		},
		2: {StreamID: 2, Name: "Bundled", Schema: json.RawMessage(`{}`)},
	}}
}

// checkInvalid fails unless err is a 422 about the part under pointer.
func checkInvalid(t *testing.T, err error, pointer string) {
	t.Helper()
	e, ok := errors.AsType[*schemas.Error](err)
	if !ok || e.Code != schemas.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer {
		t.Errorf("got %+v, want an error of code invalid about %s", err, pointer)
		return
	}
	if strings.Contains(e.Fields[0].Detail, "validating") {
		t.Errorf("the detail %q has the names of the schema's parts, want them left out", e.Fields[0].Detail)
	}
}

func bundledActions(t *testing.T, r *storedStreams) *actions.Actions {
	t.Helper()
	a, err := actions.New(actions.ApplySchema(r))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestApplySchema(t *testing.T) {
	const before = `{"topics": {"include": ["CRISPR"]}, "filters": [{"year": 2020}], "n": 12345678901234567890}`
	for _, tc := range []struct{ name, changes, want, text string }{
		{
			"replace and make", `{"topics.include": ["base editing", "<x>"], "topics.b.c": null}`,
			`{"filters":[{"year":2020}],"n":12345678901234567890,"topics":{"b":{"c":null},"include":["base editing","<x>"]}}`,
			"Updated the schema of the stream “Gene editing” (2 changes):\n\n- `topics.b.c` is `null` (new)\n- `topics.include` is `[\"base editing\",\"<x>\"]` (was `[\"CRISPR\"]`)",
		},
		{
			"list", `{"filters.0.year": 2021, "filters.1": {"year": 1}, "filters.2.deep": true}`,
			`{"filters":[{"year":2021},{"year":1},{"deep":true}],"n":12345678901234567890,"topics":{"include":["CRISPR"]}}`,
			"Updated the schema of the stream “Gene editing” (3 changes):\n\n- `filters.0.year` is `2021` (was `2020`)\n- `filters.1` is `{\"year\":1}` (new)\n- `filters.2.deep` is `true` (new)",
		},
		{
			"parent before child", `{"topics.x": 1, "topics": {}}`, `{"filters":[{"year":2020}],"n":12345678901234567890,"topics":{"x":1}}`,
			"Updated the schema of the stream “Gene editing” (2 changes):\n\n- `topics` is `{}` (was `{\"include\":[\"CRISPR\"]}`)\n- `topics.x` is `1` (new)",
		},
		{"nothing new", `{"n": 12345678901234567890}`, before, "The schema of the stream “Gene editing” already had these values; nothing changed."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := testStreams()
			s := r.byID[1]
			s.Schema = json.RawMessage(before)
			r.byID[1] = s
			call := actions.Call{Page: page, Action: "apply_schema", User: owner, Data: json.RawMessage(`{"stream_id": 1, "changes": ` + tc.changes + `}`)}
			a := bundledActions(t, r)
			if err := a.Allow(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if r.updates != 0 {
				t.Fatal("Allow changed the stream, want it unchanged")
			}
			got, err := a.Run(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(actions.Outcome{Text: tc.text}, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, string(r.byID[1].Schema)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplySchemaIsForTheOwner(t *testing.T) {
	for _, tc := range []struct {
		name   string
		user   schemas.User
		stream string
		want   error
	}{
		{"owner", owner, "1", nil},
		{"admin", admin, "1", nil},
		{"other", other, "1", errForbidden},
		{"bundled", owner, "2", errForbidden},
		{"bundled, no id", schemas.User{}, "2", errForbidden},
		{"bundled, admin", admin, "2", nil},
		{"unknown", admin, "3", schemas.ErrNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := testStreams()
			call := actions.Call{Page: page, Action: "apply_schema", User: tc.user, Data: json.RawMessage(`{"stream_id": ` + tc.stream + `, "changes": {"topics": 1}}`)}
			a := bundledActions(t, r)
			if err := a.Allow(t.Context(), call); codeOf(err) != codeOf(tc.want) {
				t.Errorf("Allow: got %v, want %v", err, tc.want)
			}
			if _, err := a.Run(t.Context(), call); codeOf(err) != codeOf(tc.want) {
				t.Errorf("Run: got %v, want %v", err, tc.want)
			}
			if done := r.updates == 1; done != (tc.want == nil) {
				t.Errorf("%d updates", r.updates)
			}
		})
	}
}

func TestWrongClicks(t *testing.T) {
	const data = "/action_metadata/action_data"
	many := "{" + strings.TrimSuffix(strings.Repeat(`"x":1,`, 1), ",")
	for i := range 101 {
		many += `,"k` + strings.Repeat("k", i) + `":1`
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for _, tc := range []struct{ name, action, data, pointer string }{
		{"unknown action", "drop_table", `{}`, "/action_metadata/action_identifier"},
		{"no data", "apply_schema", ``, data},
		{"no JSON", "apply_schema", `{`, data},
		{"no object", "apply_schema", `[]`, data},
		{"no changes", "apply_schema", `{"stream_id": 1, "changes": {}}`, data + "/changes"},
		{"wrong type", "apply_schema", `{"stream_id": "1", "changes": {"a": 1}}`, data + "/stream_id"},
		{"fraction", "apply_schema", `{"stream_id": 1.5, "changes": {"a": 1}}`, data + "/stream_id"},
		{"more fields", "apply_schema", `{"stream_id": 1, "changes": {"a": 1}, "force": true}`, data},
		{"too many", "apply_schema", `{"stream_id": 1, "changes": ` + many + `}}`, data + "/changes"},
		{"too large", "apply_schema", `{"stream_id": 1, "changes": {"a": "` + strings.Repeat("x", 256<<10) + `"}}`, data},
		{"prototype", "apply_schema", `{"stream_id": 1, "changes": {"a.__proto__.x": 1}}`, data + "/changes/a.__proto__.x"},
		{"constructor", "apply_schema", `{"stream_id": 1, "changes": {"constructor": 1}}`, data + "/changes/constructor"},
		{"empty path", "apply_schema", `{"stream_id": 1, "changes": {"": 1}}`, data + "/changes/"},
		{"empty step", "apply_schema", `{"stream_id": 1, "changes": {"a..b": 1}}`, data + "/changes/a..b"},
		{"escaped pointer", "apply_schema", `{"stream_id": 1, "changes": {"a/~.": 1}}`, data + "/changes/a~1~0."},
		{"deep path", "apply_schema", `{"stream_id": 1, "changes": {"` + strings.Repeat("a.", 32) + `a": 1}}`, data + "/changes/" + strings.Repeat("a.", 32) + "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := testStreams()
			a := bundledActions(t, r)
			_, err := a.Run(t.Context(), actions.Call{Page: page, Action: tc.action, Data: json.RawMessage(tc.data), User: admin})
			checkInvalid(t, err, tc.pointer)
		})
	}
	for _, tc := range []struct{ name, changes, path string }{
		{"through a number", `{"n.x": 1}`, "n.x"},
		{"no index", `{"filters.x": 1}`, "filters.x"},
		{"after the end of the list", `{"filters.9": 1}`, "filters.9"},
		{"odd index", `{"filters.00": 1}`, "filters.00"},
		{"negative index", `{"filters.-1": 1}`, "filters.-1"},
		{"prototype inside", `{"a": [{"prototype": 1}]}`, "a"},
		{"unknown part", `{"title": 1}`, "title"},
		{"deep value", `{"a": ` + deep + `}`, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := testStreams()
			call := actions.Call{Page: page, Action: "apply_schema", User: owner, Data: json.RawMessage(`{"stream_id": 1, "changes": ` + tc.changes + `}`)}
			a := bundledActions(t, r)
			checkInvalid(t, a.Allow(t.Context(), call), data+"/changes/"+tc.path)
			_, err := a.Run(t.Context(), call)
			checkInvalid(t, err, data+"/changes/"+tc.path)
			if r.updates != 0 {
				t.Error("the stream was changed, want it unchanged")
			}
		})
	}
}

func TestSchemaStaysBounded(t *testing.T) {
	r := testStreams()
	a := bundledActions(t, r)
	raw, err := json.Marshal(map[string]any{"stream_id": 1, "changes": map[string]string{"topics.a": strings.Repeat("x", 200<<10)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), actions.Call{Page: page, Action: "apply_schema", User: owner, Data: raw}); err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), `"topics.a"`, `"topics.b"`, 1))
	_, err = a.Run(t.Context(), actions.Call{Page: page, Action: "apply_schema", User: owner, Data: raw})
	checkInvalid(t, err, "/action_metadata/action_data/changes")
}

func TestNewActionsRefusesMistakes(t *testing.T) {
	handle := func(context.Context, actions.Call) (actions.Outcome, error) {
		return actions.Outcome{}, nil
	}
	object := json.RawMessage(`{"type":"object"}`)
	_, err := actions.New(
		actions.Action{Name: "fine", Schema: object, Handle: handle},
		actions.Action{Name: "fine", Schema: object, Handle: handle},
		actions.Action{Name: "No Name", Schema: object, Handle: handle},
		actions.Action{Name: "idle", Schema: object},
		actions.Action{Name: "list", Schema: json.RawMessage(`{"type":"array"}`), Handle: handle},
		actions.Action{Name: "broken", Schema: json.RawMessage(`{`), Handle: handle},
	)
	if err == nil {
		t.Fatal("New returned no error, want one for each mistake")
	}
	for _, want := range []string{`"fine": two actions have this name`, `"No Name": the name`, `"idle": there is no handler`, `"list": schema: "type"`, `"broken": schema:`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s in %v", want, err)
		}
	}
}

func TestActionsByName(t *testing.T) {
	a := bundledActions(t, testStreams())
	if diff := cmp.Diff([]string{"apply_schema"}, a.Names()); diff != "" || !a.Has("apply_schema") || a.Has("close_chat") {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// An action is done only where the page declares it, and offered only to those who
// may do it there.
func TestPagesOfActions(t *testing.T) {
	r := testStreams()
	a := bundledActions(t, r)
	data := json.RawMessage(`{"stream_id": 1, "changes": {"topics": 1}}`)
	client := actions.Page{Name: "edit_stream", Actions: []schemas.Action{{Action: "apply_schema", Handler: "client"}}}
	elsewhere := actions.Page{Name: "reports", Known: func(name string) bool { return name == "refund" }}
	for _, tc := range []struct {
		name, action string
		page         actions.Page
		want         schemas.Code
	}{
		{"declared", "apply_schema", page, ""},
		{"another page", "apply_schema", elsewhere, schemas.CodeForbidden},
		{"no page", "apply_schema", actions.Page{}, schemas.CodeForbidden},
		{"the client's", "apply_schema", client, schemas.CodeInvalid},
		{"of a page file, elsewhere", "refund", elsewhere, schemas.CodeForbidden},
		{"nobody's", "format_disk", elsewhere, schemas.CodeInvalid},
	} {
		call := actions.Call{Action: tc.action, User: owner, Data: data, Page: tc.page}
		if err := a.Allow(t.Context(), call); codeOf(err) != tc.want {
			t.Errorf("%s: Allow gives %v, want %s", tc.name, err, tc.want)
		}
		if _, err := a.Run(t.Context(), call); codeOf(err) != tc.want {
			t.Errorf("%s: Run gives %v, want %s", tc.name, err, tc.want)
		}
	}
	for _, tc := range []struct {
		name   string
		user   schemas.User
		stream string
		want   int
	}{
		{"owner", owner, "1", 1}, {"other", other, "1", 0}, {"owner elsewhere", owner, "2", 0}, {"no stream", owner, "null", 0}, {"admin", admin, "2", 1},
	} {
		if got := a.Offered(t.Context(), tc.user, schemas.Object{"stream_id": json.RawMessage(tc.stream)}, page.Actions); len(got) != tc.want {
			t.Errorf("%s: %d are offered, want %d", tc.name, len(got), tc.want)
		}
	}
}

// The handler of a page file's action gets the click; its answer is the outcome.
func TestOwnActions(t *testing.T) {
	a := bundledActions(t, testStreams())
	var got *turn.Call
	answer := turn.Result{Text: "Refunded [[tool:0]]."}
	refund := turn.Tool{Name: "refund", Timeout: time.Second, Check: func(input json.RawMessage) error {
		if string(input) != `{"order":7}` {
			return &schemas.Error{Code: schemas.CodeInvalid, Fields: []schemas.FieldError{{Pointer: "/force", Detail: "there is no such field"}}}
		}
		return nil
	}, Run: func(ctx context.Context, call *turn.Call) (turn.Result, error) {
		got = call
		switch answer.Text {
		case "late":
			<-ctx.Done()
			return turn.Result{}, ctx.Err()
		case "late with an effect":
			<-ctx.Done()
			return turn.Result{}, schemas.NewError(schemas.CodeEffectUnknown, "who knows").Because(context.Cause(ctx))
		case "late and done":
			<-ctx.Done()
			return answer, nil
		case "unknown":
			return turn.Result{}, schemas.NewError(schemas.CodeEffectUnknown, "status 502: [[tool:0]]")
		}
		return answer, nil
	}}
	call := actions.Call{
		Action: "refund", User: owner, ConversationID: 3, RunID: "r", Data: json.RawMessage(`{"order":7}`),
		Page: actions.Page{Name: "shop", Actions: []schemas.Action{{Action: "refund", Handler: "server"}}, Own: []turn.Tool{refund}},
	}
	synctest.Test(t, func(t *testing.T) {
		done, err := a.Run(t.Context(), call)
		if err != nil || done.Text != `Refunded [\[tool:0]].` || got.User.ID != owner.ID || got.ConversationID != 3 || got.RunID != "r" {
			t.Errorf("got %+v, %v, the call %+v", done, err, got)
		}
		for _, tc := range []struct {
			result turn.Result
			want   schemas.Code
			undone bool
			words  string
		}{
			{turn.Result{Text: "status 409 [[tool:0]]", IsError: true}, schemas.CodeUpstreamError, true, `status 409 [\[tool:0]]`},
			{turn.Result{Text: "late"}, schemas.CodeUpstreamTimeout, true, "the action did not end in time"},
			{turn.Result{Text: "late with an effect"}, schemas.CodeEffectUnknown, false, "who knows"},
			{turn.Result{Text: "unknown"}, schemas.CodeEffectUnknown, false, `status 502: [\[tool:0]]`},
		} {
			answer = tc.result
			if _, err := a.Run(t.Context(), call); codeOf(err) != tc.want || actions.Undone(err) != tc.undone || schemas.Visible(err).Message != tc.words {
				t.Errorf("%s: got %v, want %s: %s", tc.result.Text, err, tc.want, tc.words)
			}
		}
		for data, fits := range map[string]bool{`{"order":7}`: true, `{"order":7,"force":true}`: false, ``: false} {
			if err := call.Page.Fits("refund", json.RawMessage(data)); (err == nil) != fits {
				t.Errorf("the data %q: Fits gives %v, want %v", data, err, fits)
			}
		}
		if err := call.Page.Fits("apply_schema", nil); err != nil {
			t.Errorf("an action that the page's file does not handle: Fits gives %v", err)
		}
		answer = turn.Result{Text: "late and done"}
		if done, err := a.Run(t.Context(), call); err != nil || done.Text != "late and done" {
			t.Errorf("an action that was done late: got %+v, %v, want its answer", done, err)
		}
		call.Data = json.RawMessage(`{"order":7,"force":true}`)
		_, err = a.Run(t.Context(), call)
		checkInvalid(t, err, "/action_metadata/action_data/force")
		if !actions.Undone(err) {
			t.Error("Undone is false for a refused click, want true")
		}
	})
}
