package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// A Part writes a part of a reply. False means that the client is gone.
type Part func(w http.ResponseWriter, r *http.Request) bool

// A Reply is written part by part. After the last one the body ends.
type Reply []Part

// Then returns r followed by more parts.
func (r Reply) Then(parts ...Part) Reply { return append(slices.Clip(r), parts...) }

// Text is a whole reply: the texts as chunks, finish_reason stop, usage,
// [DONE].
func Text(texts ...string) Reply {
	return Stream(Say(texts...), Finish("stop"))
}

// Stream is a reply of these parts, followed by usage and [DONE].
func Stream(parts ...Part) Reply {
	return Open(parts...).Then(Usage(10, 2), Done())
}

// Open is an event stream of these parts and nothing after them.
func Open(parts ...Part) Reply {
	return append(Reply{Head(http.StatusOK, "Content-Type", "text/event-stream; charset=utf-8")}, parts...)
}

// Body is a reply with status 200, a content type and these bytes.
func Body(contentType, body string) Reply {
	return Reply{Head(http.StatusOK, "Content-Type", contentType), Bytes(body)}
}

// Status is a reply with another status, a JSON body and header fields (name,
// value, name, value …).
func Status(status int, body string, header ...string) Reply {
	return Reply{Head(status, append([]string{"Content-Type", "application/json"}, header...)...), Bytes(body)}
}

// Head writes the status and header fields, and flushes them.
func Head(status int, header ...string) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return flush(w, r)
	}
}

// Bytes writes raw bytes and flushes them.
func Bytes(s string) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if _, err := w.Write([]byte(s)); err != nil {
			return false
		}
		return flush(w, r)
	}
}

// Split writes raw bytes, at most n at a time, each piece flushed.
func Split(s string, n int) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for rest := s; len(rest) > 0; {
			k := min(n, len(rest))
			if !Bytes(rest[:k])(w, r) {
				return false
			}
			rest = rest[k:]
		}
		return true
	}
}

func flush(w http.ResponseWriter, r *http.Request) bool {
	return http.NewResponseController(w).Flush() == nil && r.Context().Err() == nil
}

// Data writes one data line with this payload, and the blank line after it.
func Data(payload string) Part { return Bytes("data: " + payload + "\n\n") }

// Chunk returns a chunk with this delta and finish_reason, both JSON, as the
// payload of Data.
func Chunk(delta, finish string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"test","system_fingerprint":"fp_1",` +
		`"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}],"usage":null}`
}

// Say writes one chunk per text.
func Say(texts ...string) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for _, t := range texts {
			if !Data(Chunk(`{"content":`+quote(t)+`}`, "null"))(w, r) {
				return false
			}
		}
		return true
	}
}

// Think writes one chunk of reasoning_content per text.
func Think(texts ...string) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for _, t := range texts {
			if !Data(Chunk(`{"reasoning_content":`+quote(t)+`}`, "null"))(w, r) {
				return false
			}
		}
		return true
	}
}

// Call writes a whole tool call as OpenAI does: one chunk with id and name, one
// for each fragment of the arguments.
func Call(index int, id, name string, arguments ...string) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		first := fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, index, quote(id), quote(name))
		if !Data(Chunk(first, "null"))(w, r) {
			return false
		}
		for _, a := range arguments {
			if !Data(Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(a)), "null"))(w, r) {
				return false
			}
		}
		return true
	}
}

// Finish writes a chunk with this finish_reason.
func Finish(reason string) Part { return Data(Chunk("{}", quote(reason))) }

// Usage writes the usage chunk.
func Usage(input, output int) Part {
	return Data(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		input, output, input+output))
}

// Done writes [DONE].
func Done() Part { return Bytes("data: [DONE]\n\n") }

// Wait waits for ch to be closed or to have a value; the client may disconnect
// meanwhile.
func Wait(ch <-chan struct{}) Part {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-ch:
			return true
		case <-r.Context().Done():
			return false
		}
	}
}

// Signal closes ch when the script reaches it.
func Signal(ch chan<- struct{}) Part {
	return func(http.ResponseWriter, *http.Request) bool {
		close(ch)
		return true
	}
}

// Delay waits for d.
func Delay(d time.Duration) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-r.Context().Done():
			return false
		}
	}
}

// Hang waits until the client disconnects.
func Hang() Part { return Wait(nil) }

// Abort cuts the connection without ending the body.
func Abort() Part {
	return func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
}

// Do calls f, for a reply that depends on the request or counts.
func Do(f func(w http.ResponseWriter, r *http.Request)) Part {
	return func(w http.ResponseWriter, r *http.Request) bool {
		f(w, r)
		return r.Context().Err() == nil
	}
}

func quote(s string) string {
	raw, _ := json.Marshal(s) // strings always marshal
	return string(raw)
}
