package text_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/text"
)

// sameDecoded checks that Decode returns what the standard library does.
func sameDecoded(t *testing.T, data string) {
	t.Helper()
	got, err := text.Decode([]byte(data))
	want, wantErr := text.DecodeByLibrary([]byte(data))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%.200q: got %#v, want %#v", data, got, want)
	}
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Errorf("%.200q: got error %v, want %v", data, err, wantErr)
	}
}

var decoded = []string{
	`{}`, `[]`, `""`, `null`, `true`, `false`, `0`, `-0`, `1.50`, `1e400`, ` { "a" : [ 1 , "b" , null ] } `, "\t[\r\n]\n", `{"a":{"b":[[],{}]},"a":2}`,
	`"\u00e9\ud83d\ude00\ud83d \\ \" \/"`, `"é😀"`, "\"\xff\"", "{\"\xff\":1}", `{"\u0061":1,"a":2}`, `[12345678901234567890123,18446744073709551615,-9223372036854775808]`,
	``, ` `, `{`, `[`, `"`, `"\"`, `"\x"`, "\"\n\"", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{1:2}`, `01`, `+1`, `-`, `.5`, `1.`, `1e`, `nul`, `nulls`, `True`,
	`{} {}`, `1 2`, `[]]`, `{}x`, `"a" "b"`, "1\v", "\u00a01",
	strings.Repeat("[", 150) + strings.Repeat("]", 150), strings.Repeat("[", 250) + strings.Repeat("]", 250), strings.Repeat(`{"a":`, 11_000) + "1" + strings.Repeat("}", 11_000),
}

func TestDecodeIsThatOfTheLibrary(t *testing.T) {
	for _, data := range decoded {
		sameDecoded(t, data)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range decoded[:len(decoded)-1] {
		f.Add(data)
	}
	f.Fuzz(sameDecoded)
}
