package endtoend

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/services/runs"
)

// TestAnotherAnswerOnWires answers a call of the page twice, with different outcomes, as two
// open pages do. The first counts; the response to the second shows it, in the place of what
// that page shows. The same answer again is left as it is.
func TestAnotherAnswerOnWires(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	const question = "call pick {}"
	for _, tt := range []struct {
		wire, path    string
		ask, answer   func(chat, run, output string) object
		shows, counts string
	}{
		{
			"ui", "/api/ui",
			func(chat, _, _ string) object {
				return object{"id": chat, "client_tools": []object{{"name": "pick"}}, "messages": []object{{"id": chat, "role": "user", "parts": []object{{"type": "text", "text": question}}}}}
			},
			func(chat, run, output string) object {
				part := object{"type": "tool-pick", "toolCallId": run + "-0", "state": "output-available", "input": object{}, "output": output}
				return object{"id": chat, "messages": []object{{"id": "a", "role": "assistant", "parts": []object{part}}}}
			},
			`"type":"tool-output-available"`, `"output":"first","providerExecuted":true`,
		},
		{
			"agui", "/api/agui",
			func(chat, _, _ string) object {
				return object{"threadId": chat, "runId": "a", "tools": []object{{"name": "pick"}}, "messages": []object{{"id": chat, "role": "user", "content": question}}}
			},
			func(chat, run, output string) object {
				return object{"threadId": chat, "runId": "b", "messages": []object{{"id": "t", "role": "tool", "toolCallId": run + "-0", "content": output}}}
			},
			`"type":"TOOL_CALL_RESULT"`, `"content":"first"`,
		},
		{
			"agui, without messages", "/api/agui",
			func(chat, _, _ string) object {
				return object{"threadId": chat, "runId": "a", "tools": []object{{"name": "pick"}}, "messages": []object{{"id": chat, "role": "user", "content": question}}}
			},
			func(chat, run, output string) object {
				return object{"threadId": chat, "runId": "b", "messages": []object{}, "resume": []object{{"interruptId": run + "-0", "status": "resolved", "payload": output}}}
			},
			"no text", `"content":"first"`,
		},
	} {
		chat := strings.NewReplacer(" ", "-", ",", "").Replace(tt.wire)
		run := client.Must(http.MethodPost, tt.path, tt.ask(chat, "", "")).Header.Get("X-Run-Id")
		for i, output := range []string{"first", "second", "first"} {
			got := client.Must(http.MethodPost, tt.path, tt.answer(chat, run, output))
			if shown := strings.Contains(got.Body, tt.shows); shown != (output == "second" && tt.shows != "no text") {
				t.Errorf("%s: the response to answer %d (%q) shows an outcome: %t:\n%s", tt.wire, i+1, output, shown, got.Body)
			}
			if output == "second" && !strings.Contains(got.Body, tt.counts) {
				t.Errorf("%s: the response to the second answer is\n%s\nwant %s in it", tt.wire, got.Body, tt.counts)
			}
		}
	}
}

// TestAnAnswerAfterTheChatHasGoneOn answers a call whose run a new message has cancelled, on
// every wire: it is a conflict, and not the end of an answer that the chat no longer awaits.
// While that is the chat's last, the response shows how it ended.
func TestAnAnswerAfterTheChatHasGoneOn(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	ask := func(chat, text string) string {
		parts := []object{{"type": "text", "text": text}}
		return client.Must(http.MethodPost, "/api/ui", object{
			"id": chat, "client_tools": []object{{"name": "pick"}}, "messages": []object{{"id": chat + text[:2], "role": "user", "parts": parts}},
		}).Header.Get("X-Run-Id")
	}
	for name, answer := range map[string]func(chat, run string) (path string, body object){
		"ui": func(chat, run string) (string, object) {
			part := object{"type": "tool-pick", "toolCallId": run + "-0", "state": "output-available", "input": object{}, "output": "x"}
			return "/api/ui", object{"id": chat, "messages": []object{{"id": "a", "role": "assistant", "parts": []object{part}}}}
		},
		"agui": func(chat, run string) (string, object) {
			return "/api/agui", object{"threadId": chat, "runId": "b", "messages": []object{{"id": "t", "role": "tool", "toolCallId": run + "-0", "content": "x"}}}
		},
		"completions": func(_, run string) (string, object) {
			return "/v1/chat/completions", object{"model": "chattray", "stream": true, "messages": []object{{"role": "tool", "tool_call_id": run + "-0", "content": "x"}}}
		},
		"responses": func(_, run string) (string, object) {
			return "/v1/responses", object{"model": "chattray", "stream": true, "input": []object{{"type": "function_call_output", "call_id": run + "-0", "output": "x"}}}
		},
	} {
		run := ask(name, "call pick {}")
		client.Must(http.MethodPost, "/api/ui/"+name+"/stop", object{})
		path, body := answer(name, run)
		if got := client.Ask("ann", http.MethodPost, path, "", body); got.Status != http.StatusOK {
			t.Errorf("%s: an answer to a call of the chat's last run, which was stopped, gets %d %s, want its end", name, got.Status, got.Body)
		}
		other := name + "-other"
		run = ask(other, "call pick {}")
		ask(other, "hello instead")
		path, body = answer(other, run)
		if got := client.Ask("ann", http.MethodPost, path, "", body); got.Status != http.StatusConflict {
			t.Errorf("%s: an answer to a call of a chat that has gone on gets %d %s, want 409", name, got.Status, got.Body)
		}
	}
}

// TestPartsOfResultsOnWires answers a call of the page with a text and an image: the model
// reads the text, and that there was more.
func TestPartsOfResultsOnWires(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	for name, answer := range map[string]func(chat, call string) (path string, body object){
		"agui": func(chat, call string) (string, object) {
			image := object{"type": "image", "source": object{"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
			return "/api/agui", object{"threadId": chat, "runId": "b", "messages": []object{{"id": "t", "role": "tool", "toolCallId": call, "content": []object{{"type": "text", "text": "Basel"}, image}}}}
		},
		"completions": func(_, call string) (string, object) {
			image := object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,iVBORw0KGgo="}}
			return "/v1/chat/completions", object{"model": "chattray", "messages": []object{{"role": "tool", "tool_call_id": call, "content": []object{{"type": "text", "text": "Basel"}, image}}}}
		},
		"responses": func(_, call string) (string, object) {
			image := object{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
			return "/v1/responses", object{"model": "chattray", "input": []object{{"type": "function_call_output", "call_id": call, "output": []object{{"type": "input_text", "text": "Basel"}, image}}}}
		},
		"responses, other JSON": func(_, call string) (string, object) {
			return "/v1/responses", object{"model": "chattray", "input": []object{{"type": "function_call_output", "call_id": call, "output": []object{{"city": "Basel"}, {"image": 7}}}}}
		},
	} {
		chat := strings.NewReplacer(" ", "-", ",", "").Replace(name)
		run := client.Must(http.MethodPost, "/api/ui", object{
			"id": chat, "client_tools": []object{{"name": "pick"}}, "messages": []object{{"id": chat, "role": "user", "parts": []object{{"type": "text", "text": "call pick {}"}}}},
		}).Header.Get("X-Run-Id")
		path, body := answer(chat, run+"-0")
		client.Must(http.MethodPost, path, body)
		got := client.Must(http.MethodGet, "/api/chat/runs/"+run+"/tools/0", nil).Body
		for _, want := range []string{"Basel", "image"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the result is\n%s\nwithout %q", name, got, want)
			}
		}
	}
}

// TestRefusedAnswersOnWires has answers that are refused: the error says where they are in
// the client's body.
func TestRefusedAnswersOnWires(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	large := strings.Repeat("x", 300<<10)
	const order = `Order 2 printed copies of report 1`
	for _, tt := range []struct {
		name, question string
		answer         func(chat, call string) (path string, body object)
		pointer        string
	}{
		{"ui", "call pick {}", func(chat, call string) (string, object) {
			part := object{"type": "tool-pick", "toolCallId": call, "state": "output-available", "input": object{}, "output": large}
			return "/api/ui", object{"id": chat, "messages": []object{{"id": "u", "role": "user", "parts": []object{}}, {"id": "a", "role": "assistant", "parts": []object{{"type": "step-start"}, part}}}}
		}, "/messages/1/parts/1/output"},
		{"agui", "call pick {}", func(chat, call string) (string, object) {
			return "/api/agui", object{"threadId": chat, "runId": "b", "messages": []object{{"id": "u", "role": "user", "content": "x"}, {"id": "t", "role": "tool", "toolCallId": call, "content": large}}}
		}, "/messages/1/content"},
		{"agui, resume", "call pick {}", func(chat, call string) (string, object) {
			return "/api/agui", object{"threadId": chat, "runId": "b", "messages": []object{}, "resume": []object{{"interruptId": call, "status": "resolved", "payload": large}}}
		}, "/resume/0/payload"},
		{"agui, edited", order, func(chat, call string) (string, object) {
			payload := object{"approved": true, "editedArgs": object{"report_id": "one"}}
			return "/api/agui", object{"threadId": chat, "runId": "b", "messages": []object{}, "resume": []object{{"interruptId": call, "status": "resolved", "payload": payload}}}
		}, "/resume/0/payload/editedArgs/report_id"},
		{"completions", "call pick {}", func(_, call string) (string, object) {
			return "/v1/chat/completions", object{"model": "chattray", "messages": []object{{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": call, "content": large}}}
		}, "/messages/1/content"},
		{"responses", "call pick {}", func(_, call string) (string, object) {
			return "/v1/responses", object{"model": "chattray", "input": []object{{"type": "function_call", "call_id": call}, {"type": "function_call_output", "call_id": call, "output": large}}}
		}, "/input/1/output"},
	} {
		chat := strings.NewReplacer(" ", "-", ",", "").Replace(tt.name)
		run := client.Must(http.MethodPost, "/api/ui", object{
			"id": chat, "client_tools": []object{{"name": "pick"}}, "context": object{"current_page": "reports"},
			"messages": []object{{"id": chat, "role": "user", "parts": []object{{"type": "text", "text": tt.question}}}},
		}).Header.Get("X-Run-Id")
		path, body := tt.answer(chat, run+"-0")
		got := client.Ask("ann", http.MethodPost, path, "", body)
		if got.Status != http.StatusUnprocessableEntity && got.Status != http.StatusBadRequest || !strings.Contains(got.Body, tt.pointer+`"`) && !strings.Contains(got.Body, tt.pointer+" ") {
			t.Errorf("%s: got %d %s, want an error at %s", tt.name, got.Status, got.Body, tt.pointer)
		}
	}
}

// Calls that wait expire by the clock of the database, if it has one, also where one process
// serves it.
func TestClockOfTheDatabase(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			shares := false
			c := apptest.ServeOn(t, d, app.Options{Runs: func(o *runs.Options) { shares = o.SharedNow != nil }}, apptest.Scripted())
			c.Ask("ann", http.MethodGet, "/api/me", "", nil)
			if want := d.Name == "postgres"; shares != want {
				t.Errorf("the clock is the database's: %t, want %t", shares, want)
			}
		})
	}
}
