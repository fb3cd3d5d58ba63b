package sockets

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

const (
	frameBound  = 256 << 10 // bytes of a frame, however much the model's server sends in one piece
	readerShare = 5         // of a block, what a reader may cost of the heap: a fifth
)

// largeBlock is 5 MiB. With the race detector, which is slow, it is a fifth of
// that; the tests on Postgres run without it.
func largeBlock() int {
	if raceDetector {
		return 1 << 20
	}
	return 5 << 20
}

// liveHeap returns the size of the heap after a collection.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the finalizers of the first collection have freed
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// dialNarrow opens a websocket whose client has small buffers.
func dialNarrow(client *apptest.Client, user string) *apptest.Socket {
	client.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(16 << 10) // otherwise the kernel takes the whole block
		}
		return conn, err
	}}
	conn, _, err := websocket.Dial(client.Context(), client.URL+"/api/ws", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + client.Tokens[user]}},
	})
	if err != nil {
		client.Fatal(err)
	}
	conn.SetReadLimit(frameBound)
	client.Cleanup(func() { _ = conn.CloseNow(); transport.CloseIdleConnections() })
	return &apptest.Socket{T: client.T, Conn: conn}
}

// takeContent reads so many bytes of a block's content and drops them.
func takeContent(c *apptest.Socket, block string, size int) {
	c.Helper()
	for got := 0; got < size; {
		chunk := c.Next()
		if c.Seen = nil; apptest.IsError(chunk) || apptest.IsRunEnd(chunk) {
			c.Fatalf("after %d bytes comes %s, want %d bytes of content", got, apptest.ListChunks([]schemas.Chunk{chunk}), size)
		}
		if apptest.IsContent(chunk) && chunk.BlockIDs == block {
			got += len(*chunk.Content)
		}
	}
}

// TestLargeBlocksStream has a model that writes a large table and a large
// image. A reader costs no copy of them, not even one that does not read. No
// frame is large, and the whole content arrives over the socket, SSE and REST.
func TestLargeBlocksStream(t *testing.T) {
	for kind, text := range map[string]string{
		schemas.BlockCSV: "year,price\n" + strings.Repeat("2026,4100\n", largeBlock()/10), "image/png": strings.Repeat("iVBORw0KGgoAAAAN", largeBlock()/16),
	} {
		t.Run(kind, func(t *testing.T) { streamLarge(t, kind, text) })
	}
}

func streamLarge(t *testing.T, kind, text string) {
	const atOnce, readers = 512 << 10, 4
	client, up := apptest.ServeScripted(t)
	gate := make(chan struct{})
	arguments := []string{`{"block_id":"big","type":"` + kind + `","meta":{"width":9,"height":9},"content":"`}
	for rest := text; rest != ""; {
		n := min(atOnce, len(rest))
		piece, _ := json.Marshal(rest[:n]) //nolint:errchkjson // a string
		arguments, rest = append(arguments, string(piece[1:len(piece)-1])), rest[n:]
	}
	rest := `"}`
	if strings.HasPrefix(kind, "image/") { // it is checked as a whole before it is shown
		arguments, rest = append(arguments, `"`), `}`
	}
	end, _ := json.Marshal(rest) //nolint:errchkjson // a string
	up.Push(upstream.Open(upstream.Call(0, "call_1", "write_block", arguments...), upstream.Wait(gate),
		upstream.Data(upstream.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":`+string(end)+`}}]}`, "null")),
		upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()), upstream.Text("Done."))
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Large"})
	client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "big", "type": kind})
	first := client.Dial("ann")
	first.Conn.SetReadLimit(frameBound)
	first.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc1","chat_id":"c1"}`)
	run := first.Next().RunID
	takeContent(first, "big", len(text))

	alone := liveHeap()
	whole, still := make([]*apptest.Socket, readers), make([]*apptest.Socket, readers)
	for i := range readers {
		whole[i], still[i] = client.Dial("ann"), dialNarrow(client, "ann")
		for _, c := range []*apptest.Socket{whole[i], still[i]} {
			c.Send(`{"name":"resume","chat_id":"c1"}`)
		}
		takeContent(still[i], "big", 1)
		takeContent(whole[i], "big", len(text))
	}
	bound := int64(len(text) / readerShare)
	var each int64
	// What is stored at this moment is in memory too, and is no reader's cost.
	apptest.Eventually(t, "no reader has a copy of the block", func() bool {
		each = (liveHeap() - alone) / (2 * readers)
		return each <= bound
	})
	t.Logf("the heap is %d KiB with one reader, %d KiB more for each other", alone>>10, each>>10)

	close(gate)
	list := first.Until(apptest.IsRunEnd)
	if last := list[len(list)-1]; last.Status != schemas.RunCompleted {
		t.Errorf("the stream ends with %s, want a completed run", apptest.ListChunks(list))
	}
	back := client.Dial("ann")
	back.Conn.SetReadLimit(frameBound)
	back.Send(`{"name":"resume","run_id":"` + run + `"}`)
	if got := apptest.JoinContent(back.Until(apptest.IsRunEnd), "big"); !strings.HasSuffix(got, text) || len(got) > len(text)+200 {
		t.Errorf("read again the block has %d bytes, want %d and a header", len(got), len(text))
	}
	for _, b := range apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil)).Blocks {
		if b.Type != kind || b.New == nil || *b.New != text {
			t.Errorf("the block has %d bytes of type %s, want the %d bytes of type %s that were written", len(*b.New), b.Type, len(text), kind)
		}
	}
	stream := "/api/chat/runs/" + run + "/stream?dialect="
	checkLargeSSE(t, string(client.Must("GET", stream+"messages", nil).Body), kind, text)
	for path, most := range map[string]int{stream + "messages": 3 * len(text) / 2, stream + "chat": 3 * len(text) / 2, "/api/chats/1": frameBound} {
		if got := len(client.Must("GET", path, nil).Body); got > most { // the text once, in frames
			t.Errorf("GET %s has %d bytes, want at most %d", path, got, most)
		}
	}
	call := apptest.Decode[struct{ Input struct{ Content string } }](t, client.Must("GET", "/api/chat/runs/"+run+"/tools/0", nil))
	if call.Input.Content != text {
		t.Errorf("the call's input has %d bytes, want %d", len(call.Input.Content), len(text))
	}
}

// checkLargeSSE reads the block out of a stream: the messages of the block's type
// inside the block whose data.ref is its id.
func checkLargeSSE(t *testing.T, stream, kind, text string) {
	t.Helper()
	var got strings.Builder
	var inside string
	for line := range strings.SplitSeq(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var f struct {
			Type    string `json:"type"`
			BlockID string `json:"block_id"`
			Props   struct {
				Content, Event string
				Meta           map[string]any
				Data           struct {
					BlockID string `json:"block_id"`
					Ref     string
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatal(err)
		}
		if f.Props.Event == "block_start" && f.Props.Data.Ref == "big" {
			inside = f.Props.Data.BlockID
		}
		if f.Type != kind {
			continue
		}
		if inside == "" || f.BlockID != inside {
			t.Fatalf("content comes while the block %q is open, want it in its own: %.200s", inside, data)
		}
		if len(data) > frameBound {
			t.Errorf("a frame has %d bytes, want at most %d", len(data), frameBound)
		}
		if got.Len() == 0 && kind != schemas.BlockCSV {
			want := map[string]any{"mime": kind, "width": 9.0, "height": 9.0, "encoding": "base64"}
			if f.Props.Meta != nil && !cmp.Equal(f.Props.Meta, want) {
				t.Errorf("the header is %v, want %v", f.Props.Meta, want)
			}
		}
		got.WriteString(f.Props.Content)
	}
	if got.String() != text {
		t.Errorf("over SSE the block has %d bytes, want %d", got.Len(), len(text))
	}
}
