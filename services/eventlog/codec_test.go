package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Every body of the log can be stored.
func TestEveryBodyHasAForm(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../schemas/runlog/bodies.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "body" {
				want = append(want, n.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		case *ast.TypeSpec: // a body that embeds another one
			s, ok := n.Type.(*ast.StructType)
			if ok && len(s.Fields.List) == 1 && s.Fields.List[0].Names == nil && n.Name.Name != "Payload" {
				want = append(want, n.Name.Name)
			}
		}
		return true
	})
	for _, f := range forms {
		got = append(got, f.body.Elem().Name())
	}
	got = append(got, "Unknown") // its form is that of a newer release
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 {
		t.Errorf("the bodies and those that have a form (-want +got):\n%s", diff)
	}
}

// filled sets every field that v has to a value that is not empty.
func filled(t *testing.T, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*at = json.RawMessage(`{"a":"größer"}`)
		return
	case *time.Time:
		*at = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
		return
	case **schemas.Diagnostics: // are not in the log
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("größer\n\u2028")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-70_000)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(t, v.Index(0))
		filled(t, v.Index(1))
	case reflect.Struct:
		for _, field := range v.Fields() {
			filled(t, field)
		}
	default:
		t.Fatalf("a field of kind %s", v.Kind())
	}
}

// Stored bodies are read with the same fields, empty and filled.
func TestCodecRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []runlog.Event
	seq, at := int64(1_000_000), int64(1760000000000)
	for i := range 4 * len(forms) {
		seq += 1 + random.Int64N(3)
		at += random.Int64N(50) - 2
		b := forms[i%len(forms)].empty()
		if i >= len(forms) {
			filled(t, reflect.ValueOf(b).Elem())
		}
		want = append(want, runlog.Event{
			Seq: seq, Time: at, Body: b, At: runlog.Level{Thread: random.Uint32N(3), Group: random.Uint32(), Message: random.Uint32N(9)},
		})
	}
	got, err := Decode(appendEvents(appendEvents(nil, want[:50]), want[50:]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want, got: %s", diff)
	}
}

// Storing does not write to a body: two goroutines store one at the same time,
// which the race detector watches.
func TestCodecWritesToNoBody(t *testing.T) {
	var events []runlog.Event
	for i := range forms {
		b := forms[i].empty()
		filled(t, reflect.ValueOf(b).Elem())
		events = append(events, runlog.Event{Seq: int64(i + 1), Body: b})
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { appendEvents(nil, events) })
	}
	both.Wait()
}

// A body that was stored with fewer fields has the others empty.
func TestCodecReadsShorterBodies(t *testing.T) {
	segment := []byte{version2, 5, 2, 2, 0, 0, 0, 1, byte(runlog.GroupLevel) << 1}
	got, err := Decode(segment)
	want := []runlog.Event{{Seq: 1, Time: 1, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got %v and (-want +got):\n%s", err, diff)
	}
}

// A cost too small to be shown is shown as 0, also once it is stored. In old
// logs, which do not store the index, calls have NoIndex, not the index 0.
func TestCodecReadsCallsWithoutIndex(t *testing.T) {
	for b, later := range map[runlog.Body]int{&runlog.Call{}: 1, &runlog.ApprovalRequest{}: 4, &runlog.ClientToolCall{}: 4} { // bytes of later fields
		form := formByType[reflect.TypeOf(b)]
		var stored, again fields
		form.fields(&stored, b)
		short := stored.dst[:len(stored.dst)-1-later]
		again = fields{src: string(short), reading: true}
		got := form.empty()
		form.fields(&again, got)
		if index := reflect.ValueOf(got).Elem().FieldByName("Index").Int(); index != runlog.NoIndex || again.err != nil {
			t.Errorf("%T without an index has %d (%v), want %d", b, index, again.err, runlog.NoIndex)
		}
	}
}

func TestCodecKeepsSmallCosts(t *testing.T) {
	end := runlog.Completed{Payload: schemas.ChatResponsePayload{Usage: schemas.Usage{CostUSD: 400}}}
	want := end.Payload.AppendJSON(nil)
	old := binary.AppendUvarint([]byte{version1, tagCompleted, 2, 2, 0, 0, 0, 0}, uint64(len(want)))
	for version, segment := range map[int][]byte{1: append(old, want...), 2: appendEvents(nil, []runlog.Event{{Seq: 1, Body: &end}})} {
		events, err := Decode(segment)
		if err != nil {
			t.Fatal(err)
		}
		if got := events[0].Body.(*runlog.Completed).Payload.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("version %d: got %s, want %s", version, got, want)
		}
	}
}

func TestCodecRefuses(t *testing.T) {
	for name, segment := range map[string][]byte{
		"a kind that version 1 does not have":  {version1, 33, 2, 2, 0, 0, 0, 0, 0},
		"an event that is cut off":             {version2, tagText, 2, 2, 0, 0, 0, 5, 'a'},
		"a field that is cut off":              {version2, 5, 2, 2, 0, 0, 0, 3, 2, 9, 'a'},
		"a version 1 event that is not JSON":   {version1, 2, 2, 2, 0, 0, 0, 0, 1, '{'},
		"a complete that is not JSON":          {version2, tagCompleted, 2, 2, 0, 0, 0, 2, 0, '{'},
		"a length past the end of the segment": append([]byte{version1, tagText, 2, 2, 0, 0, 0}, binary.AppendUvarint(nil, 1<<63)...),
	} {
		if _, err := Decode(segment); !errors.Is(err, errSegment) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzCodec reads any bytes: reading fails, or gives events that are encoded to
// the same bytes.
func FuzzCodec(f *testing.F) {
	f.Add(appendEvents(nil, []runlog.Event{
		{Seq: 1, Time: 5, Body: text("Hello")}, {Seq: 2, Time: 9, Body: &runlog.Completed{Payload: schemas.ChatResponsePayload{Message: "Hello"}}},
	}))
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{version1, 21, 2, 2, 0, 0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(data)
		if err != nil {
			return
		}
		first := appendEvents(nil, events)
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		if diff := cmp.Diff(first, appendEvents(nil, again)); diff != "" {
			t.Errorf("first, again: %s", diff)
		}
	})
}
