package endtoend

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// report is the PDF file that the tests of the reader use, too.
const report = "../../services/pdftext/testdata/report.pdf"

// A PDF file is read once, when it arrives: the model gets its text with this
// question and with the next one, and the chat keeps its name and its size.
func TestPDFAttachment(t *testing.T) {
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	file := schemas.Attachment{Name: "trial.pdf", MIME: "application/pdf", Content: base64.StdEncoding.EncodeToString(raw)}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			client := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			up.Push(upstream.Text("24 patients."), upstream.Text("In 2014 and 2015."))
			first := apptest.Decode[schemas.ChatResponsePayload](t, client.Must("POST", "/api/chat", map[string]any{"message": "How many patients?", "attachments": []schemas.Attachment{file}}))
			client.Must("POST", "/api/chat", map[string]any{"message": "When?", "conversation_id": first.ConversationID})
			for i, r := range up.Requests() {
				var all strings.Builder
				for _, m := range r.Messages {
					all.WriteString(m.Text())
				}
				for _, want := range []string{`<data name="trial.pdf">`, "[page 1 of 2]", "enrolled 24 patients", "Second page: Zürich and Ελληνικά."} {
					if !strings.Contains(all.String(), want) {
						t.Errorf("request %d to the model lacks %q:\n%s", i+1, want, all.String())
					}
				}
				if strings.Contains(all.String(), file.Content[:100]) {
					t.Errorf("request %d to the model has the file itself", i+1)
				}
			}
			chat := apptest.Decode[schemas.Chat](t, client.Must("GET", fmt.Sprintf("/api/chats/%d", first.ConversationID), nil))
			want := []schemas.AttachmentInfo{{Name: "trial.pdf", MIME: "application/pdf", Size: len(raw)}}
			if diff := cmp.Diff(want, chat.Messages[0].Attachments); diff != "" {
				t.Errorf("the files of the question (-want +got):\n%s", diff)
			}
		})
	}
}

// A model refuses an image, which it gets no more: the next answer tells the user so, and the
// one after it no longer.
func TestImagesAfterARefusal(t *testing.T) {
	up := upstream.NewMemory()
	client := apptest.ServeOn(t, apptest.Databases()[0], app.Options{Models: up.Transport()}, apptest.Scripted())
	up.Push(upstream.Status(http.StatusBadRequest, `{"error":{"message":"no images"}}`), upstream.Text("Hello."), upstream.Text("Hello again."))
	ask := func(with map[string]any) schemas.ChatResponsePayload {
		with["message"], with["chat_id"] = "Look", "pictures"
		return apptest.Decode[schemas.ChatResponsePayload](t, client.Ask("ann", "POST", "/api/chat", "", with))
	}
	ask(map[string]any{"attachments": []schemas.Attachment{{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo="}}})
	for _, want := range []int{1, 0} {
		answer := ask(map[string]any{})
		if told := strings.Join(answer.Warnings, ""); len(answer.Warnings) != want || want == 1 && !strings.Contains(told, "images from before the refused answer") {
			t.Errorf("%q warns with %q, want %d warnings", answer.Message, answer.Warnings, want)
		}
	}
}

// A PDF file that cannot be read is refused before anything is stored; the
// message says what the user can do.
func TestPDFThatCannotBeRead(t *testing.T) {
	client := apptest.Serve(t)
	off := apptest.ServeOn(t, apptest.Databases()[0], app.Options{}, []string{"CHATTRAY_MAX_PDF_PAGES=0"})
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	short := apptest.ServeOn(t, apptest.Databases()[0], app.Options{}, []string{"CHATTRAY_MAX_PDF_PAGES=1"})
	encrypted := "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<< /Size 2 /Root 1 0 R /Encrypt << /Filter /Standard /V 5 /R 6 >> >>\nstartxref\n45\n%%EOF\n"
	for name, tc := range map[string]struct {
		client *apptest.Client
		file   []byte
		want   string
	}{
		"broken":    {client, raw[:len(raw)/2], "cannot be read; it is broken, or not a PDF file"},
		"encrypted": {client, []byte(encrypted), "is encrypted; remove its password"},
		"too large": {client, make([]byte, 5<<20+1), "an image or a PDF file may have at most 5242880 bytes"},
		"too long":  {short, raw, "has 2 pages; it may have 1"},
		"off":       {off, raw, "is not taken here; send its text"},
	} {
		t.Run(name, func(t *testing.T) {
			file := schemas.Attachment{Name: "a.pdf", MIME: "application/pdf", Content: base64.StdEncoding.EncodeToString(tc.file)}
			got := tc.client.Ask("ann", http.MethodPost, "/api/chat", "", map[string]any{"message": "Read it", "attachments": []schemas.Attachment{file}})
			problem := apptest.Decode[schemas.Problem](t, got)
			want := []schemas.FieldError{{Pointer: "/attachments/0/content", Detail: tc.want}}
			if diff := cmp.Diff(want, problem.Errors); got.Status != http.StatusUnprocessableEntity || diff != "" {
				t.Errorf("status %d %s, want 422; errors (-want +got):\n%s", got.Status, got.Body, diff)
			}
		})
	}
	if list := client.Must("GET", "/api/chats", nil); !strings.Contains(list.Body, `"items":[]`) {
		t.Errorf("a refused file left a chat: %s", list.Body)
	}
}
