package delta_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/app/apptest/delta"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

func read(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// The table is shared with web; frame_json is used where a JSON literal would
// mean something else in JavaScript.
func TestApplyTable(t *testing.T) {
	var rows []struct {
		Name    string
		Props   map[string]any
		Path    string
		Action  string
		Frame   map[string]any
		JSON    string `json:"frame_json"`
		Want    map[string]any
		Depth   int
		Refused bool
	}
	read(t, "delta.json", &rows)
	if len(rows) < 50 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			if row.JSON != "" {
				if err := json.Unmarshal([]byte(row.JSON), &row.Frame); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := json.Marshal(row.Props)
			got, err := delta.Apply(row.Props, row.Path, row.Action, row.Frame)
			if after, _ := json.Marshal(row.Props); string(before) != string(after) {
				t.Errorf("the props given were changed: %s, then %s", before, after)
			}
			if row.Refused {
				if !errors.Is(err, delta.ErrRefused) {
					t.Fatalf("got %v, %v; want it refused", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.Depth > 0 {
				var v any = got
				for range row.Depth {
					v = v.(map[string]any)["a"]
				}
				if v != 1.0 {
					t.Errorf("got %v at depth %d, want 1", v, row.Depth)
				}
				return
			}
			if diff := cmp.Diff(row.Want, got); diff != "" {
				t.Errorf("want, got: %s", diff)
			}
		})
	}
}

type folded struct {
	ID     string         `json:"id"`
	Type   string         `json:"type"`
	Block  string         `json:"block"`
	Thread string         `json:"thread"`
	Closed bool           `json:"closed"`
	Props  map[string]any `json:"props"`
}

func view(s *delta.State) []folded {
	var list []folded
	for _, m := range s.Messages {
		list = append(list, folded{m.ID, m.Type, m.Block, m.Thread, m.Closed, m.Props})
	}
	return list
}

func TestFoldTable(t *testing.T) {
	var rows []struct {
		Name   string
		Frames []struct {
			schemas.MessageFrame
			Refused bool
		}
		Want []folded
	}
	read(t, "fold.json", &rows)
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			var s delta.State
			for i, f := range row.Frames {
				if err := s.Apply(f.MessageFrame); (err != nil) != f.Refused {
					t.Fatalf("frame %d: got error %v, want refused %v", i, err, f.Refused)
				}
			}
			if diff := cmp.Diff(row.Want, view(&s)); diff != "" {
				t.Errorf("want, got: %s", diff)
			}
		})
	}
}

// The arguments and the data that the service accepts are those that readers accept in the
// props of a frame.
func TestReadersAcceptWhatTheServiceAccepts(t *testing.T) {
	values := []string{`{"__proto__":1}`, `{"a":[{"__proto__":{}}]}`, `{"constructor":{"prototype":1}}`, `{"a":"__proto__"}`}
	for depth := 1; depth < 40; depth++ {
		values = append(values, strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth), `{"a":`+strings.Repeat("[", depth)+`"a"`+strings.Repeat("]", depth)+"}")
	}
	for _, value := range values {
		var s delta.State
		refused := s.Apply(schemas.MessageFrame{Type: "approval", MessageID: "M1", Props: json.RawMessage(`{"input":` + value + `}`)})
		if err := turn.Readable("its arguments", []byte(value)); (err == nil) != (refused == nil) {
			t.Errorf("%s: as arguments: %v, in a frame: %v; want both or none", value, err, refused)
		}
		if err := turn.Showable("its data", []byte(value)); (err == nil) != (refused == nil) {
			t.Errorf("%s: as data: %v, in a frame: %v; want both or none", value, err, refused)
		}
	}
}

// However a text is split into deltas, the fold is the text.
func TestFoldOfAnySplitIsTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		whole := ""
		for range random.IntN(60) {
			whole += string([]rune("abc \n\"\\{}[]äß😀")[random.IntN(14)])
		}
		var s delta.State
		for rest, n := whole, 1; rest != "" || n == 1; n++ {
			cut := random.IntN(len(rest) + 1)
			for !utf8.ValidString(rest[:cut]) {
				cut++
			}
			props, err := json.Marshal(map[string]string{"content": rest[:cut]})
			if err != nil {
				t.Fatal(err)
			}
			frame := schemas.MessageFrame{ChunkID: "C" + strconv.Itoa(n), MessageID: "M1", Type: "text", Props: props, Delta: random.IntN(3) > 0}
			for range 1 + random.IntN(2) { // some come twice
				if err := s.Apply(frame); err != nil {
					t.Fatal(err)
				}
			}
			rest = rest[cut:]
		}
		if got := s.Messages[0].Props["content"]; got != whole {
			t.Fatalf("got %q, want %q", got, whole)
		}
	}
}

// FuzzApply: nothing panics, and what is refused changes nothing.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":[{"b":"x"}]}`, "a[0].b", "append", `{"a":[{"b":"y"}]}`)
	f.Add(`{}`, "a.b.0", "set", `{"a":{"b":[1]}}`)
	f.Fuzz(func(t *testing.T, props, path, action, frame string) {
		var p, fr map[string]any
		if json.Unmarshal([]byte(props), &p) != nil || json.Unmarshal([]byte(frame), &fr) != nil || p == nil {
			return
		}
		before, _ := json.Marshal(p)
		got, err := delta.Apply(p, path, action, fr)
		if after, _ := json.Marshal(p); string(before) != string(after) {
			t.Errorf("the props given were changed: %s, then %s", before, after)
		}
		if (got == nil) != (err != nil) {
			t.Errorf("got %v with error %v", got, err)
		}
	})
}
