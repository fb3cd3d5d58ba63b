package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/logtest"
	"github.com/chattray/chattray/tools/mcp/result"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// each runs a test against the server over every transport.
func each(t *testing.T, test func(t *testing.T, server mcp.Server)) {
	t.Run("stdio", func(t *testing.T) { test(t, local(t, "srv")) })
	t.Run("HTTP with sessions", func(t *testing.T) { test(t, serveRemote(t, nil).named("srv")) })
	t.Run("HTTP without sessions", func(t *testing.T) {
		test(t, serveRemote(t, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}).named("srv"))
	})
}

func TestTools(t *testing.T) {
	each(t, func(t *testing.T, server mcp.Server) {
		server.Global, server.TrustHints, server.Timeout = true, true, 7*time.Second
		w := newTestEnv(t, nil, server)
		greet, slow := w.tool("srv__greet"), w.tool("srv__slow")
		if !greet.Idempotent || slow.Idempotent || !greet.Global || greet.Confirm || greet.Timeout != 7*time.Second || greet.PayloadType != result.PayloadType {
			t.Errorf("greet is %+v, slow idempotent: %t", greet, slow.Idempotent)
		}
		if err := greet.Check(json.RawMessage(`["name"]`)); err == nil {
			t.Error("arguments that are not an object were accepted, want an error")
		}
		if got := w.text("srv__greet", `{"name":"Una"}`); got != "Hello Una" {
			t.Errorf("got %q", got)
		}
		if got := w.text("srv__cancelled", ""); got != "0" {
			t.Errorf("a call without arguments: got %q", got)
		}
	})
}

// A tool without a hint that it is harmless needs approval: an absent hint means
// the protocol's default. A server's hints count only if the operator trusts them,
// and the operator's own setting comes first.
func TestConfirm(t *testing.T) {
	all := []string{"greet", "erase", "erase_not", "store", "steps"}
	for _, tt := range []struct {
		name          string
		trust         bool
		confirm, asks []string
	}{
		{"nothing said", false, nil, all},
		{"hints trusted", true, nil, []string{"erase", "steps"}},
		{"all", false, []string{tools.GroupAll}, all},
		{"all, hints trusted", true, []string{tools.GroupAll}, all},
		{"none", false, []string{}, nil},
		{"none, hints trusted", true, []string{}, nil},
		{"those named and no others", false, []string{"steps", "store"}, []string{"store", "steps"}},
		{"those named and no others, hints trusted", true, []string{"greet", "store"}, []string{"greet", "store"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := local(t, "srv")
			server.Confirm, server.TrustHints = tt.confirm, tt.trust
			w := newTestEnv(t, nil, server)
			var asks []string
			for _, name := range all {
				if w.tool("srv__" + name).Confirm {
					asks = append(asks, name)
				}
			}
			if d := cmp.Diff(tt.asks, asks); d != "" {
				t.Errorf("tools that ask (-want +got):\n%s", d)
			}
		})
	}
}

// Hints also decide whether a call may be repeated after a crash, whether it counts as one
// with effects, and whether its result is text from outside.
func TestHintsCountOnlyWhenTrusted(t *testing.T) {
	type rules struct{ again, effects, outside bool }
	for _, trust := range []bool{false, true} {
		server := local(t, "srv")
		server.TrustHints, server.Confirm = trust, []string{}
		w := newTestEnv(t, nil, server)
		for name, trusted := range map[string]rules{
			"greet": {true, false, true}, "erase": {false, true, true}, "erase_not": {true, false, true}, "store": {true, true, false}, "steps": {false, true, true},
		} {
			want := trusted
			if !trust {
				want = rules{false, true, true}
			}
			tool := w.tool("srv__" + name)
			if got := (rules{tool.Idempotent, tool.Effects, tool.Untrusted}); got != want {
				t.Errorf("%s with trust_hints %t: %+v, want %+v", name, trust, got, want)
			}
			if urls := tool.Addresses(json.RawMessage(`{"to":["https://evil.example/?d=1"]}`)); len(urls) != 1 {
				t.Errorf("%s sends %q", name, urls)
			}
		}
	}
}

func TestConfirmOfNoTool(t *testing.T) {
	server := local(t, "srv")
	server.Confirm = []string{"misspelt", "greet"}
	w := newTestEnv(t, nil, server)
	if line := w.await("the settings want approval of a tool"); !strings.Contains(line, "misspelt") {
		t.Errorf("the log says %q", line)
	}
}

func TestResults(t *testing.T) {
	tests := []struct{ name, tool, text, payload string }{
		{"structured content", "table", `{"rows":[1,2]}`, `{"server":"srv","tool":"table","structured":{"rows":[1,2]}}`},
		{
			"image and resources", "picture",
			"Look:\n\n[an image of type image/png and 3 bytes, shown to the user]\n\n[link to a resource, a, file:///a, first]\n\n" +
				"[resource, demo://b, text/plain, 8 bytes]\n\ninside b",
			`{"server":"srv","tool":"picture","images":[{"mime":"image/png","data":"cG5n"}],"resources":[` +
				`{"uri":"file:///a","name":"a","description":"first"},{"uri":"demo://b","mime":"text/plain","size":8,"text":"inside b"}]}`,
		},
		{"error", "fail", "no luck", ""},
		{"refusal", "refuse", "the server srv refused the call: not today", ""},
	}
	w := newTestEnv(t, nil, local(t, "srv"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.call("srv__"+tt.tool, "{}")
			if err != nil {
				t.Fatal(err)
			}
			payload := ""
			if got.Payload != nil {
				payload = string(got.Payload.Data)
			}
			if got.Text != tt.text || payload != tt.payload || got.IsError != (tt.payload == "") {
				t.Errorf("got %q, %s, error %t; want %q, %s", got.Text, payload, got.IsError, tt.text, tt.payload)
			}
		})
	}
}

// Progress that a server sends right before the result is there before the call ends.
func TestProgress(t *testing.T) {
	want := []turn.Progress{
		{Stage: "running", Message: "step 0"},
		{Stage: "running", Message: "step 1", Fraction: 0.25},
		{Stage: "running", Message: "step 2", Fraction: 0.5},
	}
	each(t, func(t *testing.T, server mcp.Server) {
		w := newTestEnv(t, nil, server)
		for range 100 {
			var got []turn.Progress
			call := &tools.Call{Input: json.RawMessage("{}"), Report: func(p turn.Progress) { got = append(got, p) }}
			if _, err := w.tool("srv__steps").Run(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("progress (-want +got):\n%s", d)
			}
		}
	})
}

func TestCancelledCall(t *testing.T) {
	each(t, func(t *testing.T, server mcp.Server) {
		w := newTestEnv(t, nil, server)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user does not want it")
		call := &tools.Call{Report: func(turn.Progress) { cancel(why) }} // it has begun
		if _, err := w.tool("srv__slow").Run(ctx, call); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
		late := time.After(logtest.Patience)
		for w.text("srv__cancelled", "") != "1" {
			select {
			case <-late:
				t.Fatal("the call still runs at the server, want it cancelled")
			default:
			}
		}
	})
}

func TestHugeResults(t *testing.T) {
	w := newTestEnv(t, nil, local(t, "srv"))
	text := w.text("srv__huge", `{"size":"3000001"}`)
	if len(text) > result.MaxText || len(text) < result.MaxText-10 || !strings.HasSuffix(text, "é\n\n[the rest of the result is left out: it is too long]") {
		t.Errorf("a result over the limit: %d bytes, ending %q", len(text), text[len(text)-80:])
	}
	_, err := w.call("srv__huge", `{"size":"`+strconv.Itoa(transport.MaxMessage+2)+`"}`)
	if got := visible(err); got != "the server srv sent a message that is too large; whether the call had an effect is unknown" {
		t.Errorf("a message over the limit: got %q", got)
	}
	w.await("MCP server is connected")
	w.await("MCP server is not connected", "the server sent a message that is too large")
	w.await("MCP server is connected")
	if got := w.text("srv__huge", `{"size":"4"}`); got != "éé" {
		t.Errorf("afterwards got %q", got)
	}
}

func TestListChanges(t *testing.T) {
	each(t, func(t *testing.T, server mcp.Server) {
		w := newTestEnv(t, nil, server)
		w.text("srv__describe", `{"tool":"later","description":"New.","schema":"{\"type\":\"object\"}"}`)
		w.until("a new tool", func() bool { return strings.Contains(w.names(), "srv__later") })
		later := w.tool("srv__later")
		if got := w.text("srv__later", ""); got != "described" {
			t.Errorf("got %q", got)
		}
		w.text("srv__remove", `{"tool":"later"}`)
		w.until("the tool has gone", func() bool { return !strings.Contains(w.names(), "srv__later") })
		if _, err := later.Run(t.Context(), &tools.Call{}); !strings.Contains(visible(err), "has changed or no longer exists") {
			t.Errorf("a tool that no longer exists: got %v", err)
		}
	})
}

func TestChangedToolIsOffUntilAccepted(t *testing.T) {
	for _, tt := range []struct{ name, tool, description, after string }{
		{"description", "fail", "Does something else.", "Does something else."},
		{"no more called read-only", "erase_not", "", "The tool erase_not of the server srv."},
		{"no more called idempotent", "store", "", "The tool store of the server srv."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestEnv(t, func(o *mcp.Options) { o.Refresh = 20 * time.Millisecond }, local(t, "srv"))
			old := w.tool("srv__" + tt.tool)
			w.text("srv__describe", `{"tool":"`+tt.tool+`","description":"`+tt.description+`","schema":"{\"type\":\"object\"}"}`)
			w.until("the tool is off", func() bool { return !strings.Contains(w.names()+" ", "srv__"+tt.tool+" ") })
			if line := w.await("has changed and is off"); !strings.Contains(line, "chattray mcp accept srv "+tt.tool+" --digest ") {
				t.Errorf("the log says %q", line)
			}
			if _, err := old.Run(t.Context(), &tools.Call{}); !strings.Contains(visible(err), "has changed or no longer exists") {
				t.Errorf("a turn that has the old definition: got %v", err)
			}
			w.memory.accept()
			w.until("it is on again", func() bool { return strings.Contains(w.names()+" ", "srv__"+tt.tool+" ") })
			if got := w.tool("srv__" + tt.tool); got.Description != tt.after {
				t.Errorf("it is described as %q", got.Description)
			}
		})
	}
}

// A server gives names; an operator copies the command of the log into a shell.
func TestCommandOfTheLogIsSafe(t *testing.T) {
	for name, want := range map[string]string{
		"read_file-2.x": "read_file-2.x", "a b": "'a b'", "x;$(date)`date`": "'x;$(date)`date`'", "it's": `'it'\''s'`,
	} {
		if got := mcp.ShellWord(name); got != want {
			t.Errorf("%q is %s in a command, want %s", name, got, want)
		}
	}
}

func TestDefinitionsThatCannotBeComparedAreOff(t *testing.T) {
	w := newTestEnv(t, func(o *mcp.Options) { o.Refresh = 20 * time.Millisecond }, local(t, "srv"))
	w.memory.mu.Lock()
	w.memory.err = errors.New("the database is not available")
	w.memory.mu.Unlock()
	w.until("all is off", func() bool { return w.names() == "" })
	w.memory.mu.Lock()
	w.memory.err = nil
	w.memory.mu.Unlock()
	w.until("all is on", func() bool { return strings.Contains(w.names(), "srv__greet") })
}

// A list that cannot be compared is read again soon, and not only when it is due; until then the server is
// missing, so that a call of an earlier attempt waits for its tool.
func TestDefinitionsAreComparedAgainSoon(t *testing.T) {
	w := newTestEnv(t, func(o *mcp.Options) {
		o.Refresh, o.Pins.(*memory).err = time.Hour, errors.New("the database is not available")
	}, local(t, "srv"))
	there := w.clients.Missing("srv__greet")
	if there == nil {
		t.Fatal("the server is there before its definitions have been compared")
	}
	w.memory.mu.Lock()
	w.memory.err = nil
	w.memory.mu.Unlock()
	select {
	case <-there:
	case <-time.After(logtest.Patience):
		t.Fatal("the definitions are not compared again")
	}
	if got := w.text("srv__greet", `{"name":"Ada"}`); !strings.Contains(got, "Ada") {
		t.Errorf("the tool says %q", got)
	}
}
