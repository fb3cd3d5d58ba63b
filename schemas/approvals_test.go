package schemas_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// What the service hands out as the id of a call is accepted back in each request
// that names one. A test of the api holds the tags and openapi.yaml together.
func TestCallIDsAreAcceptedBack(t *testing.T) {
	want := "max=" + strconv.Itoa(schemas.MaxCallID)
	for _, request := range []any{schemas.ClientToolResult{}, schemas.SocketEvent{}} {
		f, ok := reflect.TypeOf(request).FieldByName("ToolUseID")
		if rules := f.Tag.Get("validate"); !ok || !strings.HasSuffix(","+rules, ","+want) {
			t.Errorf("%T: the rules of the call's id are %q, want %s", request, rules, want)
		}
	}
}
