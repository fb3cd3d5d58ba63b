package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/mcp/transport"
)

// halves returns the parts of a message's bytes one after the other, each in one read.
type halves struct{ parts []string }

func (h *halves) Read(p []byte) (int, error) {
	if len(h.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.parts[0])
	if h.parts[0] = h.parts[0][n:]; h.parts[0] == "" {
		h.parts = h.parts[1:]
	}
	return n, nil
}

func (*halves) Close() error { return nil }

// TestProgressThatComesInHalves has servers whose messages arrive in two halves, cut anywhere:
// every step is taken, in its order, before the connection's reader has the message after it.
func TestProgressThatComesInHalves(t *testing.T) {
	const steps = 3
	var messages []string
	for i := range steps {
		messages = append(messages, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":%d,"total":3,"message":"Größe"}}`, i+1))
	}
	result := `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	sse := func(end string) string {
		var b strings.Builder
		for _, m := range append(messages, result) {
			b.WriteString("event: message" + end + "data: " + m + end + end)
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		stream string
		open   func(io.ReadCloser, func(*sdk.ProgressNotificationParams)) io.ReadCloser
	}{
		"stdio":                   {strings.Join(append(messages, result), "\n") + "\n", transport.Lines},
		"stdio, a batch":          {"[" + strings.Join(messages, ",") + "]\n" + result + "\n", transport.Lines},
		"HTTP":                    {sse("\n"), transport.Noticed},
		"HTTP with CRLF":          {sse("\r\n"), transport.Noticed},
		"HTTP with CR":            {sse("\r"), transport.Noticed},
		"HTTP, data in two lines": {strings.ReplaceAll(sse("\n"), `,"params"`, ",\ndata: \"params\""), transport.Noticed},
	} {
		t.Run(name, func(t *testing.T) {
			for cut := range len(tt.stream) {
				var taken []float64
				from := tt.open(&halves{[]string{tt.stream[:cut], tt.stream[cut:]}}, func(p *sdk.ProgressNotificationParams) { taken = append(taken, p.Progress) })
				var read bytes.Buffer
				for buffer := make([]byte, 32<<10); ; {
					n, err := from.Read(buffer)
					read.Write(buffer[:n])
					if strings.Contains(read.String(), `"result"`) && len(taken) < steps {
						t.Fatalf("cut at %d: the reader has the result after the steps %v, want %d of them before it", cut, taken, steps)
					}
					if errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if read.String() != tt.stream {
					t.Fatalf("cut at %d: the reader got %q", cut, read.String())
				}
				for i, progress := range taken {
					if len(taken) != steps || progress != float64(i+1) {
						t.Fatalf("cut at %d: the steps are %v, want 1, 2, 3", cut, taken)
					}
				}
			}
		})
	}
}
