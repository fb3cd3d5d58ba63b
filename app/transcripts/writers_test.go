package transcripts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

const (
	writerSeeds = 12 // for each database; fewer with -short
	writerSteps = 40
	// writersEnd is longer than the whole queue takes.
	writersEnd = 3 * time.Hour
)

// TestConcurrentWriters has three sockets write one document with blocks of Markdown and of CSV,
// and the blocks of answers in chats, each in all three chats and watching them, while the user
// stops, accepts, rejects, deletes blocks, chats and the document, whose ids are used again, and
// plans at random, and some calls that write a block are refused. In the end every viewer that
// folds the chunks has what is stored, with its type, and no refusal has ended a block that was
// being written. No block is ever lost that the user has not deleted, and has not rejected while
// it was new, unless it was only planned. A failure names its seed.
func TestConcurrentWriters(t *testing.T) {
	for _, d := range apptest.Databases() {
		database, seeds := sampled(t, d), uint64(writerSeeds)
		if testing.Short() {
			seeds /= 4
		}
		for seed := range seeds {
			t.Run(fmt.Sprintf("seed_%d/%s", seed, d.Name), func(t *testing.T) {
				t.Parallel()
				url, pages := database(t), pagesDir(t, new(txtar.Archive))
				synctest.Test(t, func(t *testing.T) { writeAtOnce(t, url, pages, seed) })
			})
		}
	}
}

// writers are three viewers of one document who change it.
type writers struct {
	*fixture
	random  *rand.Rand
	viewers []*viewer
	there   map[string]bool // the ids of the document's blocks that are not only planned
	plans   int
	steps   []string
}

// viewer folds the chunks of the document's blocks, and of the chats' blocks.
type viewer struct {
	*wire
	t       *testing.T
	read    int
	shown   map[string]string
	kinds   map[string]string // the types of what is shown
	writing map[string]bool
	gone    map[string]bool // shown, but no longer there; nobody has told the viewer
}

func writeAtOnce(t *testing.T, database, pages string, seed uint64) {
	s := newFixture(t, database, pages, &txtar.Archive{Files: []txtar.File{
		{Name: "settings", Data: []byte("CHATTRAY_REQUESTS_PER_MINUTE=0 CHATTRAY_OTHER_REQUESTS_PER_MINUTE=0 CHATTRAY_MAX_RUNS_PER_USER=0")},
	}})
	s.start()
	w := &writers{fixture: s, random: rand.New(rand.NewPCG(seed, 7)), there: map[string]bool{}}
	for range 5 * writerSteps {
		s.up.Push(w.reply())
	}
	s.up.On(upstream.Any, upstream.Text("Done."))
	w.create()
	for i := range 3 {
		v := &viewer{t: t, wire: s.openWire(step{arg: "/api/ws", user: "una"}), shown: map[string]string{}, kinds: map[string]string{}, writing: map[string]bool{}, gone: map[string]bool{}}
		for chat := range 3 {
			s.sendWire(v.wire, fmt.Sprintf(`{"name":"resume","chat_id":"c%d"}`, chat))
		}
		w.viewers = append(w.viewers, v)
		s.wires[fmt.Sprint(i)] = v.wire
	}
	for range writerSteps {
		w.step()
		time.Sleep(time.Duration(w.random.IntN(1500)) * time.Millisecond) //nolint:forbidigo // the time of the bubble
		w.check("later", nil)
	}
	time.Sleep(writersEnd) //nolint:forbidigo // the time of the bubble
	w.check("at the end", nil)
	w.compare()
	s.closeClients()
	s.stop()
	time.Sleep(leftBehind) //nolint:forbidigo // the time of the bubble
	if t.Failed() {
		t.Logf("seed %d:\n%s", seed, strings.Join(w.steps, "\n"))
	}
}

// callEnds end the arguments of a call that writes a block, and the reply: most calls are
// run, the others have arguments that are refused after the text has been shown, which
// then ends with refusedText.
var callEnds = []struct{ arguments, finish string }{
	{`\"}`, "tool_calls"},
	{`\"}`, "tool_calls"},
	{`\"}`, "tool_calls"},
	{refusedText + `\",\"extra\":1}`, "tool_calls"},
	{refusedText + `\",\"content\":\"twice\"}`, "tool_calls"},
	{refusedText + `\", broken`, "tool_calls"},
	{refusedText, "length"},
}

// refusedText is never stored once its call has ended.
const refusedText = "REFUSED"

// reply returns a reply of the model: a text, a plan, or calls that write blocks.
func (w *writers) reply() upstream.Reply {
	pause := func() upstream.Part { return upstream.Delay(time.Duration(w.random.IntN(800)) * time.Millisecond) }
	end := []upstream.Part{upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()}
	switch w.random.IntN(6) {
	case 0:
		w.plans++
		kinds := []string{schemas.BlockMarkdown, schemas.BlockCSV}
		return upstream.Stream(append([]upstream.Part{
			pause(), upstream.Call(0, "p", "plan_document", fmt.Sprintf(`{"title":"T%d","blocks":[{"type":"%s","heading":"H"}]}`, w.plans, kinds[w.random.IntN(2)])),
		}, end...)...)
	case 1, 2:
		var parts []upstream.Part
		last := w.random.IntN(2)
		for n := range last + 1 {
			argument := func(text string) upstream.Part {
				return upstream.Data(upstream.Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}`, n, text), "null"))
			}
			block, kind := w.block(), ""
			if block[0] == 'k' {
				kind = `"type":"csv",`
			}
			parts = append(parts, upstream.Call(n, fmt.Sprint("w", n), "write_block", fmt.Sprintf(`{"block_id":"%s",%s"content":"t`, block, kind)))
			for range 1 + w.random.IntN(4) {
				parts = append(parts, pause(), argument(fmt.Sprint(w.random.IntN(1000), []string{" ", ",", `\\n`}[w.random.IntN(3)])))
			}
			e := callEnds[w.random.IntN(len(callEnds))]
			if n < last { // the reply goes on, and with it the text
				e.arguments = strings.TrimPrefix(e.arguments, refusedText)
			}
			parts, end[0] = append(parts, argument(e.arguments)), upstream.Finish(e.finish)
		}
		return upstream.Stream(append(parts, end...)...)
	}
	var parts []upstream.Part
	for range 1 + w.random.IntN(6) {
		parts = append(parts, upstream.Say(fmt.Sprintf("a%d%s", w.random.IntN(1000), []string{" ", ",", "\n"}[w.random.IntN(3)])), pause())
	}
	return upstream.Stream(append(parts, upstream.Finish("stop"), upstream.Usage(1, 1), upstream.Done())...)
}

// block returns one of the document's blocks: b0 and b1 of Markdown, k0 and k1 of CSV, unless an
// answer has made them again.
func (w *writers) block() string { return []string{"b0", "b1", "k0", "k1"}[w.random.IntN(4)] }

// target returns a block for an answer, or two, which may be of different types.
func (w *writers) target() string {
	if w.random.IntN(4) > 0 {
		return w.block()
	}
	return w.block() + "," + w.block()
}

// chatBlocks returns some blocks of a chat.
func (w *writers) chatBlocks(chat int) string {
	return []string{fmt.Sprintf("z%d", chat), fmt.Sprintf("y%d", chat), fmt.Sprintf("z%d,y%d", chat, chat)}[w.random.IntN(3)]
}

// step does one thing at random.
func (w *writers) step() {
	v, chat := w.random.IntN(3), w.random.IntN(3)
	send := func(frame string) {
		w.steps = append(w.steps, fmt.Sprintf("%d: %s", v, frame))
		w.sendWire(w.viewers[v].wire, frame)
		synctest.Wait()
	}
	stop := func(what string) { // after it the viewer watches the chats again
		send(`{"name":"stop",` + what + `}`)
		for chat := range 3 {
			w.sendWire(w.viewers[v].wire, fmt.Sprintf(`{"name":"resume","chat_id":"c%d"}`, chat))
		}
		synctest.Wait()
	}
	switch w.random.IntN(26) {
	case 0, 1:
		send(fmt.Sprintf(`{"name":"message","message":{"content":"m"},"document_id":"d","block_id":"%s","chat_id":"c%d"}`, w.target(), chat))
	case 2, 3, 4, 5:
		send(fmt.Sprintf(`{"name":"message","message":{"content":"m"},"document_id":"d","chat_id":"c%d","mode":"agent"}`, chat))
	case 6:
		send(fmt.Sprintf(`{"name":"pause","chat_id":"c%d"}`, chat))
	case 7:
		send(`{"name":"pause","document_id":"d"}`)
	case 8:
		w.decide("POST", "/api/blocks/"+w.block()+"/accept")
	case 9:
		w.decide("POST", "/api/blocks/"+w.block()+"/revert")
	case 10:
		w.decide("POST", "/api/documents/d/accept")
	case 11:
		w.decide("POST", "/api/documents/d/revert")
	case 12:
		w.decide("DELETE", "/api/blocks/"+w.block())
	case 13, 14, 15:
		send(fmt.Sprintf(`{"name":"message","message":{"content":"m%d"},"block_id":"%s","chat_id":"c%d"}`, len(w.steps), w.chatBlocks(chat), chat))
	case 16, 17: // found by its block, once that is known
		send(fmt.Sprintf(`{"name":"message","message":{"content":"m%d"},"block_id":"%s"}`, len(w.steps), w.chatBlocks(chat)))
	case 18: // refused
		send(fmt.Sprintf(`{"name":"message","message":{"content":"m"},"block_id":"%s","chat_id":"c%d","model":"none"}`, w.chatBlocks(chat), chat))
	case 19:
		send(fmt.Sprintf(`{"name":"pause","block_id":"%s"}`, w.chatBlocks(chat)))
	case 20:
		w.decide("DELETE", "/api/documents/d")
	case 21:
		w.deleteChat(chat)
	case 22:
		stop(fmt.Sprintf(`"chat_id":"c%d"`, chat))
	case 23:
		stop(`"document_id":"d"`)
	case 24:
		stop(fmt.Sprintf(`"block_id":"%s"`, w.chatBlocks(chat)))
	case 25:
		w.create()
	}
}

// create makes the document and its blocks of CSV where they are missing.
func (w *writers) create() {
	w.ask("POST", "/api/documents", `{"id":"d","title":"D"}`)
	for _, id := range []string{"k0", "k1"} {
		w.steps = append(w.steps, fmt.Sprint("POST ", id, " ", w.ask("POST", "/api/documents/d/blocks", `{"id":"`+id+`","type":"csv","content":"h\n1\n"}`)))
	}
}

// deleteChat deletes a chat, if there is one with the name.
func (w *writers) deleteChat(chat int) {
	var list schemas.ChatList
	if err := json.Unmarshal(w.body("GET", "/api/chats", ""), &list); err != nil {
		w.t.Fatal(err)
	}
	name := fmt.Sprintf("c%d", chat)
	for _, c := range list.Items {
		if c.ChatID == name {
			w.decide("DELETE", fmt.Sprintf("/api/chats/%d", c.ConversationID))
			for _, v := range w.viewers {
				for id := range v.shown {
					if inChat(id) && id[1:] == name[1:] && !v.writing[id] {
						v.gone[id] = true
					}
				}
			}
		}
	}
}

// decide makes a decision of the user, after which the viewers read the document again.
func (w *writers) decide(method, path string) {
	synctest.Wait()
	title, before := w.titled()
	status := w.ask(method, path, "")
	w.steps = append(w.steps, fmt.Sprint(method, " ", path, " ", status))
	if status >= 300 {
		return
	}
	after, doc := w.titled()
	planned := strings.HasSuffix(path, "/accept") && after != title // just before
	w.check(path, func(id string) bool { return planned || removes(method, path, before[id]) })
	for _, v := range w.viewers {
		for id := range before {
			if v.writing[id] {
				continue
			}
			if b, ok := doc[id]; ok {
				v.shown[id], v.kinds[id] = textOf(b), b.Type
			} else if _, ok := v.shown[id]; ok {
				v.gone[id] = true
			}
		}
	}
}

// removes reports whether a decision removes a block that is there before it: one that the user
// deletes, rejects while it is new, or accepts to be deleted.
func removes(method, path string, b schemas.Block) bool {
	switch path {
	case "/api/documents/d", "/api/blocks/" + b.ID:
		return method == http.MethodDelete
	case "/api/documents/d/revert", "/api/blocks/" + b.ID + "/revert":
		return b.State == schemas.BlockPendingNew
	case "/api/documents/d/accept", "/api/blocks/" + b.ID + "/accept":
		return b.State == schemas.BlockPendingDelete
	}
	return false
}

// check folds the new chunks, and looks for lost blocks and texts that do not count. Removed
// says which blocks a decision has just removed; nil for no decision.
func (w *writers) check(when string, removed func(id string) bool) {
	w.t.Helper()
	synctest.Wait()
	for _, v := range w.viewers {
		v.fold()
	}
	doc := w.document()
	for id := range w.there {
		if _, ok := doc[id]; !ok && (removed == nil || !removed(id)) {
			w.t.Errorf("%s: the block %s is lost", when, id)
		}
	}
	w.there = map[string]bool{}
	for id, b := range doc {
		if b.Current != nil || textOf(b) != "" {
			w.there[id] = true
		}
		if strings.Contains(textOf(b)+*cmp.Or(b.Current, new(string)), refusedText) {
			w.t.Errorf("%s: the block %s has the text of a refused call: %q", when, id, textOf(b))
		}
	}
}

// compare compares what is stored with what the viewers see.
func (w *writers) compare() {
	w.t.Helper()
	doc := w.document()
	for n, v := range w.viewers {
		for _, id := range slices.Sorted(maps.Keys(v.shown)) {
			if v.gone[id] {
				continue
			}
			if inChat(id) {
				if stored, here := w.answer(id); here && (strings.TrimSpace(v.shown[id]) != stored || v.writing[id]) {
					w.t.Errorf("viewer %d sees %s as %q (being written: %v), stored is %q", n, id, v.shown[id], v.writing[id], stored)
				}
				continue
			}
			b, ok := doc[id]
			if !ok || textOf(b) != v.shown[id] || v.writing[id] || v.shown[id] != "" && v.kinds[id] != b.Type {
				w.t.Errorf("viewer %d sees %s as %s %q (being written: %v), stored is %s %q (%v)", n, id, v.kinds[id], v.shown[id], v.writing[id], b.Type, textOf(b), ok)
			}
		}
	}
}

// inChat reports whether the id is one of chatBlocks.
func inChat(id string) bool { return len(id) == 2 && strings.ContainsAny(id[:1], "zy") }

// answer returns the text of an answer's block without its markers, "" for none. It is
// not here if it belongs to a chat that not all viewers watch: an id that no answer got is
// free again.
func (w *writers) answer(id string) (content string, here bool) {
	w.t.Helper()
	status, body := w.call("GET", "/api/blocks/"+id, "")
	var b schemas.Block
	if status == http.StatusOK {
		if err := json.Unmarshal(body, &b); err != nil {
			w.t.Fatal(err)
		}
	}
	return strings.TrimSpace(text.StripMarkers(textOf(b))), b.ChatID == "" || len(b.ChatID) == 2
}

func textOf(b schemas.Block) string { return *cmp.Or(b.New, b.Current, new(string)) }

// document returns the document's blocks by id.
func (w *writers) document() map[string]schemas.Block {
	w.t.Helper()
	_, blocks := w.titled()
	return blocks
}

// titled returns the title that the document has when everything is accepted, and its blocks.
func (w *writers) titled() (title string, blocks map[string]schemas.Block) {
	w.t.Helper()
	var doc schemas.Document
	if err := json.Unmarshal(w.body("GET", "/api/documents/d", ""), &doc); err != nil {
		w.t.Fatal(err)
	}
	found := map[string]schemas.Block{}
	for _, b := range doc.Blocks {
		found[b.ID] = b
	}
	return cmp.Or(doc.NewTitle, doc.Title), found
}

func (w *writers) ask(method, path, body string) int {
	status, _ := w.call(method, path, body)
	return status
}

func (w *writers) body(method, path, body string) []byte {
	_, answer := w.call(method, path, body)
	return answer
}

func (w *writers) call(method, path, body string) (int, []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://chattray.test"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.bearer("una", nil))
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// fold folds the chunks that have arrived since the last call.
func (v *viewer) fold() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ; v.read < len(v.frames); v.read++ {
		var c schemas.Chunk
		if json.Unmarshal(v.frames[v.read], &c) != nil || c.BlockIDs == "" || c.NewDoc {
			continue
		}
		for id := range strings.SplitSeq(c.BlockIDs, ",") {
			switch {
			case c.Type == schemas.ChunkError && c.RunID == "" && c.Seq == 0:
				if c.End && v.writing[id] {
					v.t.Errorf("a refusal ends the block %s that is being written: %s", id, *c.Content)
				}
			case c.DocumentID != "d" && !inChat(id):
			case c.Type == schemas.ChunkReset && c.End:
				delete(v.shown, id)
				v.writing[id], v.gone[id] = false, false
			case c.Type == schemas.ChunkReset:
				v.shown[id], v.writing[id], v.gone[id] = "", true, false
			case c.End:
				v.writing[id] = false
			case apptest.IsContent(c) && (c.Type == schemas.BlockMarkdown || c.Type == schemas.BlockCSV):
				v.shown[id] += *c.Content
				v.kinds[id] = c.Type
				v.writing[id], v.gone[id] = true, false
			}
		}
	}
}
