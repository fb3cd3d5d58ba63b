package mcp_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/mcp/result"
)

// The images of a result are bounded together; what is left out is said.
func TestImagesTogetherAreBounded(t *testing.T) {
	answer := &sdk.CallToolResult{}
	for range 3 {
		answer.Content = append(answer.Content, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 400<<10)})
	}
	got := result.Of("srv", "draw", answer)
	if n := strings.Count(string(got.Payload.Data), `"mime"`); n != 2 || !strings.Contains(got.Text, "was left out: it is too large") {
		t.Errorf("%d images of 400 KiB are shown, want 2 and a note: %s", n, got.Text)
	}
}
