package endtoend

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// stalled is the host of a server that takes requests and does not read them.
const stalled = "stalled.test"

// gallery is the server of a model. It reads a request when it may, and answers when as many requests
// as it expects have been read.
type gallery struct {
	arrived chan struct{} // has a value for each request that has come
	read    chan struct{} // requests are read when it is closed
	all     sync.WaitGroup

	mu                sync.Mutex
	unread, most, got int
}

func (c *gallery) count(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread += more
	c.most = max(c.most, c.unread)
	if more < 0 {
		c.got++
	}
}

func (c *gallery) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == stalled {
		c.arrived <- struct{}{}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	c.count(1)
	c.arrived <- struct{}{}
	select {
	case <-c.read:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	_, err := io.Copy(io.Discard, r.Body)
	c.count(-1) // before the service knows it
	if r.Body.Close(); err != nil {
		return nil, err
	}
	c.all.Done()
	c.all.Wait()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("data: {\"choices\":[{\"delta\":{\"content\":\"Nice.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")),
	}, nil
}

// look is a question with an image of 300 KB.
func look(chat string) map[string]any {
	content := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 300_000)...))
	return map[string]any{"message": "Look", "chat_id": chat, "attachments": []schemas.Attachment{{Name: "p.png", MIME: "image/png", Content: content}}}
}

// Prompts with images are sent one after the other if there is no more memory for them, and all are
// answered at the same time: none holds memory while the model thinks.
func TestPromptsWaitForMemory(t *testing.T) {
	const questions = 4
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			model := &gallery{arrived: make(chan struct{}, 10), read: make(chan struct{})}
			close(model.read)
			model.all.Add(questions)
			client := apptest.ServeOn(t, d, app.Options{Models: model}, apptest.Scripted("CHATTRAY_MAX_PROMPTS=1KiB"))
			var asked sync.WaitGroup
			for _, chat := range []string{"a", "b", "c", "d"} {
				asked.Go(func() {
					if r := client.Ask("ann", "POST", "/api/chat", "", look(chat)); r.Status != http.StatusOK || !strings.Contains(r.Body, "Nice.") {
						t.Errorf("%s: got %d %s", chat, r.Status, r.Body)
					}
				})
			}
			asked.Wait()
			if model.most != 1 || model.got != questions {
				t.Errorf("%d requests were sent, at most %d at the same time; want %d and 1", model.got, model.most, questions)
			}
		})
	}
}

// A server that does not read what is sent to it does not hold up the prompts of another one.
func TestPromptsBesideAStalledServer(t *testing.T) {
	model := &gallery{arrived: make(chan struct{}, 10), read: make(chan struct{})}
	close(model.read)
	model.all.Add(1)
	models := `CHATTRAY_MODELS=[{"name":"good"},{"name":"bad","base_url":"http://` + stalled + `/v1"}]`
	client := apptest.ServeOn(t, apptest.Databases()[0], app.Options{Models: model}, apptest.Scripted("CHATTRAY_MAX_PROMPTS=1KiB", models))
	asked := look("a")
	asked["model"] = "bad"
	first := client.Open("POST", "/api/chat/stream", asked)
	defer first.Body.Close()
	<-model.arrived
	if r := client.Ask("ann", "POST", "/api/chat", "", look("b")); r.Status != http.StatusOK || !strings.Contains(r.Body, "Nice.") {
		t.Errorf("got %d %s", r.Status, r.Body)
	}
}

// A run that waits for memory can be cancelled, and the others go on.
func TestCancelOfAPromptThatWaitsForMemory(t *testing.T) {
	model := &gallery{arrived: make(chan struct{}, 10), read: make(chan struct{})}
	model.all.Add(1)
	client := apptest.ServeOn(t, apptest.Databases()[0], app.Options{Models: model}, apptest.Scripted("CHATTRAY_MAX_PROMPTS=1KiB"))
	first := client.Open("POST", "/api/chat/stream", look("a"))
	defer first.Body.Close()
	<-model.arrived
	second := client.Open("POST", "/api/chat/stream", look("b"))
	defer second.Body.Close()
	rest := func(answer *http.Response) string {
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Errorf("the stream breaks: %v", err)
		}
		return string(raw)
	}
	if r := client.Ask("ann", "POST", "/api/chat/runs/"+second.Header.Get("X-Run-Id")+"/cancel", "", nil); r.Status/100 != 2 {
		t.Fatalf("the cancel gives %d %s", r.Status, r.Body)
	}
	if got := rest(second); !strings.Contains(got, `"type":"cancelled"`) {
		t.Errorf("the cancelled run ends with %s", got)
	}
	close(model.read)
	if got := rest(first); !strings.Contains(got, `"type":"complete"`) {
		t.Errorf("the other run ends with %s", got)
	}
}
