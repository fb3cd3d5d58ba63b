package transport_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/mcp/transport"
)

// FuzzMessages reads any bytes of a server: what the library gets and the steps that are
// taken do not depend on how the bytes are split over reads, and the library gets no more
// than the server has sent.
func FuzzMessages(f *testing.F) {
	const step = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
	for _, body := range []string{
		step + "\n", "[" + step + "," + step + "]\r\n", "banner\n" + step, " \n[\n", "null\n{\"jsonrpc\":\"2.0\",\"id\":1}",
		"event: message\r\ndata: " + step + "\r\n\r\n", "data: " + step + "\r\rid: 7\ndata:\n\n", ": c\nid\nevent: ping\ndata: 1\n\n", "data: {}\n", "\r\n\r", "data: x\n\n",
	} {
		f.Add([]byte(body), uint16(len(body)/2))
	}
	f.Fuzz(func(t *testing.T, body []byte, at uint16) {
		cut := min(int(at), len(body))
		for name, open := range map[string]func(io.ReadCloser, func(*sdk.ProgressNotificationParams)) io.ReadCloser{
			"stdio": transport.Lines, "HTTP": transport.Noticed,
		} {
			read := func(parts ...string) (got string, steps []float64) {
				parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
				all, err := io.ReadAll(open(&halves{parts}, func(p *sdk.ProgressNotificationParams) { steps = append(steps, p.Progress) }))
				if err != nil && !errors.Is(err, transport.ErrLongMessage) {
					t.Errorf("%s: %v", name, err)
				}
				return string(all), steps
			}
			whole, steps := read(string(body))
			halved, again := read(string(body[:cut]), string(body[cut:]))
			if whole != halved || !slices.Equal(steps, again) {
				t.Errorf("%s: cut at %d, the library gets %q with the steps %v, want %q with %v", name, cut, halved, again, whole, steps)
			}
			if len(whole) > len(body) {
				t.Errorf("%s: the library gets %d bytes of %d", name, len(whole), len(body))
			}
		}
	})
}
